// SPDX-License-Identifier: Apache-2.0
// Works out what follows from a policy alone.
#pragma once

#include "nccl_env/core/decide/compiled_policy.h"

namespace nccl_env {

// The result refers to the policy.
CompiledPolicy compile(const NcclPolicy& policy);

}  // namespace nccl_env
