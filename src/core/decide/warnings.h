// SPDX-License-Identifier: Apache-2.0
// Warnings about settings that silently break RDMA in a matched pod and that the user can change
// (docs/internals/decisions.md, "Warnings"). One of each kind, for the first container concerned.
#pragma once

#include <string>
#include <vector>

#include "decide/match.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// Warns where leaving a pod alone may be a mistake, or where its command undoes what other pods get.
void add_skip_warnings(const Pod& pod, const NcclPolicy& policy, const PodMatch& match,
                       std::vector<std::string>& warnings);

// Most important first.
void add_pod_warnings(const Pod& pod, const PodMatch& match, std::vector<std::string>& warnings);

}  // namespace nccl_env
