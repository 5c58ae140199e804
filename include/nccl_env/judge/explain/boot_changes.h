// SPDX-License-Identifier: Apache-2.0
// Values that a pod which its node kept over a boot would be given otherwise today.
#pragma once

#include <string>

#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

// Returns a clause such as "kept over a boot: NCCL_IB_GID_INDEX (3 then, 5 today)"; "" if the node has not
// booted since, would give the same, or if policy or table is not known.
std::string changed_over_boot(const PodRecord& record, const PodSurroundings& around);

}  // namespace nccl_env
