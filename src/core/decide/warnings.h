// SPDX-License-Identifier: Apache-2.0
// Warnings: about a pod of ours for what silently breaks RDMA and is not ours to change
// (docs/internals/decisions.md, "Warnings"). One of each kind, for the first container concerned.
#pragma once

#include <string>
#include <vector>

#include "decide/match.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// Warns of a pod that is left alone where that may be a mistake, or its command undoes what other pods get.
void add_skip_warnings(const Pod& pod, const NcclPolicy& policy, const PodMatch& match,
                       std::vector<std::string>& warnings);

// Most important first.
void add_pod_warnings(const Pod& pod, const PodMatch& match, std::vector<std::string>& warnings);

}  // namespace nccl_env
