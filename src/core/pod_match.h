// SPDX-License-Identifier: Apache-2.0
// Whether a pod is a policy's business, which of its containers, and what they see of the node's devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/policy.h"
#include "nccl_env/core/reasons.h"
#include "nccl_env/core/review.h"

namespace nccl_env {

struct PodMatch {
  std::optional<Reason> skip;
  std::string detail;
  Exposure exposure = Exposure::PodOwned;
  std::vector<bool> in_scope;  // per Pod::containers
};

PodMatch match_pod(const Pod& pod, const NcclPolicy& policy);

}  // namespace nccl_env
