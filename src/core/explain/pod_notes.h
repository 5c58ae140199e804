// SPDX-License-Identifier: Apache-2.0
// What else is worth knowing of a pod: sentences beside the answer.
#pragma once

#include <string>
#include <vector>

#include "nccl_env/core/explain/pod_answer.h"

namespace nccl_env {

// `changes` are those of the same pod, which make some notes needless.
std::vector<std::string> notes_of(const PodRecord& record, const PodSurroundings& surroundings,
                                  const std::vector<ValueChange>& changes);

}  // namespace nccl_env
