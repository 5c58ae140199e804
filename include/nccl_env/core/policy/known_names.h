// SPDX-License-Identifier: Apache-2.0
// Well-known RDMA resource names (docs/use/policy.md, "Exposure"): the exposure of a pod without hostNetwork
// that requests one of them, if the policy's entry does not give it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// nullopt: not known. A name that sites use differently has one exposure here. Never Exposure::Host: no name
// alone says that the pod's GID rows are the node's.
std::optional<Exposure> known_exposure(std::string_view resource);

// Known names in full, those without a wildcard.
std::span<const std::string_view> known_resources();

// True for resources of shared device plugins that bring devices and no interface: without a secondary
// network the ports have no GID in a pod.
bool needs_network(std::string_view resource);

// As Kubernetes defines it: DOMAIN/NAME outside the kubernetes.io domains, so neither cpu nor hugepages-2Mi.
bool is_extended_resource(std::string_view name);

// The device class that an extended resource stands for, and for which the scheduler makes the claim
// (KEP-5004, "deviceclass.resource.kubernetes.io/NAME"); "": none.
std::string_view device_class_of(std::string_view resource);

// ComputeDomains (nvidia/k8s-dra-driver-gpu) give a pod memory of other nodes over NVLink, and no HCA.
bool is_compute_domain_class(std::string_view device_class);
// Elastic Fabric Adapter (awslabs' dranet driver): libfabric, not verbs.
bool is_efa_class(std::string_view device_class);

}  // namespace nccl_env
