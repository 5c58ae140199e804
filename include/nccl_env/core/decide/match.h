// SPDX-License-Identifier: Apache-2.0
// Tells whether a policy matches a pod, which of its containers, and what they see of the node's devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

struct PodMatch {
  std::optional<Reason> skip;
  std::string detail;
  Exposure exposure = Exposure::PodOwned;
  std::vector<bool> in_scope;  // per Pod::containers
  std::string problem;         // what is not known of a pod that is matched; "" if nothing
  // Why it is not known which of the node's rails the pod has, behind a shared plugin: a sentence; "" if they
  // are known.
  std::string rails_unknown;
  bool lacks_network = false;  // rails are unknown because the pod asks for no network
  bool few_rails = false;      // because its networks bring fewer than the policy expects
  // The pod asks for a device of a shared plugin and for no network, on which alone a RoCE port has a GID
  // there.
  bool no_rail = false;
};

// Returns the warning about a pod with no_rail on a RoCE fabric.
std::string no_rail_text();

// True if the pod says nccl-env.io/inject: "false".
bool opts_out(const Pod& pod);

// True for the mirror of a static pod: its content is a file on the node, which nothing here can change.
bool is_mirror(const Pod& pod);

// `claims`: the pod's claims as far as they are known; null if none is known.
PodMatch match_pod(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims);
// True if a pod that the policy matches can have this shape.
bool can_have(const NcclPolicy& policy, const PodShape& shape);
// True if the texts of this shape may hold what goes with their list: then each has a twin without it.
bool may_pin(const NcclPolicy& policy, const PodShape& shape);

}  // namespace nccl_env
