// SPDX-License-Identifier: Apache-2.0
// The size of a pod's annotations, which the API server bounds, before Binding adds the node's values.
#pragma once

#include <cstddef>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Returns the bytes that the pod's annotations will have: what stays of them, the plan's status, and room for
// Binding.
std::size_t annotation_budget(const Pod& pod, const Plan& plan, const NcclPolicy& policy);

}  // namespace nccl_env
