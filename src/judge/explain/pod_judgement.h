// SPDX-License-Identifier: Apache-2.0
// Judges the values that a pod of the cluster has.
#pragma once

#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

// Adds what changed, what NCCL chooses, and findings; of findings that are not good the worst is the answer's
// sentence. `into` has its state already.
void judge_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings, PodAnswer& into);

}  // namespace nccl_env
