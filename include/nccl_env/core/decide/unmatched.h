// SPDX-License-Identifier: Apache-2.0
// A pod in which a policy matches nothing (NotRdma): what would make the policy match it.
#pragma once

#include <string>

#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Returns the remedy: it names the resources, device classes, networks and devices that the pod asks for and
// no entry matches, with the line of the policy that would take them; fields that stand in the wrong place;
// or, for a launcher, that there is nothing to do. `claims`: as far as they are known; null: none is. `sign`:
// as below.
std::string unmatched_remedy(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims,
                             const std::string& sign = {});

// Tells of a pod that has GPUs and nothing of RDMA, which nobody turned off, in a clause; "" of any other.
std::string gpus_without_rdma(const Pod& pod, const NcclPolicy& policy);
// Tells that such a pod is one of several, by its labels, env or command; or by `sign`, which the object that
// makes it gave. A sentence; "" where nothing tells so.
std::string several_without_rdma(const Pod& pod, const NcclPolicy& policy, std::string sign = {});

// True if the pod may open RDMA devices: it asks for a device that is no GPU, brings those of its host, or is
// privileged.
bool may_have_devices(const Pod& pod);

// True of a resource, or of a device class, that may bring network devices: what is not known may.
bool may_be_rdma(std::string_view resource);
bool may_have_nics(std::string_view device_class);

// True if the container asks for a GPU or another processor of its kind.
bool asks_for_processor(const Container& container);

// Tells how a pod, no launcher, asks for RDMA in vain: by a name that says so or that the policy matches, but
// at a place without effect, by one that the policy does not match, or for none of it beside a GPU. A
// sentence; "" where it does not.
std::string unmatched_rdma(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims);

}  // namespace nccl_env
