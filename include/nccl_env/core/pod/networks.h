// SPDX-License-Identifier: Apache-2.0
// Secondary networks that a pod's annotations ask for (docs/use/policy.md, "Networks"). Each annotation is
// read as the program that it is meant for reads it, strictly and within bounds: it is untrusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

struct PodNetworks {
  std::vector<std::string> names;  // NAMESPACE/NAME, or the annotation's domain in a namespace's place
  // How many names at the end of `names` are interfaces beside the pod's first one. The names before them are
  // a default network, and words that may stand for any number of interfaces.
  std::size_t attached = 0;
  std::string problem;  // an annotation that cannot be read, and why; "" if all can
};

// A pod on the host network has none.
PodNetworks networks_of(const Pod& pod);

// Names of the interfaces that the pod's networks brought, as Multus wrote them down when it made them
// (k8s.v1.cni.cncf.io/network-status); empty where not all are told.
std::vector<std::string> interfaces_of(const Pod& pod);

// How a policy sees a pod's networks.
struct NetworkMatch {
  std::optional<Exposure> exposure;  // the least known one of those that match
  std::string problem;               // as in PodNetworks
  bool any = false;                  // the pod asks for networks
  // How many rails the networks may bring: the number of attached networks that an entry names, or of all
  // attached networks if no entry names one.
  std::size_t rails = 0;
};
NetworkMatch match_networks(const Pod& pod, const NcclPolicy& policy);

}  // namespace nccl_env
