// SPDX-License-Identifier: Apache-2.0
// Compares NCCL's log with the values that a pod was given.
#pragma once

#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

// `spec`: what the pod was given, and its users' own variables (State::Users), which are not judged.
LogVerification verify_log(const NcclLog& log, const std::vector<Value>& spec);

}  // namespace nccl_env
