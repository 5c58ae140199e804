// SPDX-License-Identifier: Apache-2.0
// The size of a pod's annotations, which the API server bounds, before Binding adds the node's values.
#pragma once

#include <cstddef>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Returns the room that a Binding by this policy may need.
std::size_t binding_reserve(const NcclPolicy& policy);
// Returns the bytes that the pod's annotations will have: what stays of them, the plan's status, and that
// room.
std::size_t annotation_budget(const Pod& pod, const Plan& plan, std::size_t reserve);

}  // namespace nccl_env
