// SPDX-License-Identifier: Apache-2.0
// The diagnosis of a log: what it all means, and what to do.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/nccl_log/log_verification.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

// Takes a verification that has all but its sentence. `beside`: a sentence on other ranks that a failure's
// diagnosis begins with; "" for none.
std::string diagnosis_of(const LogVerification& verification, const NcclLog& log,
                         std::string_view beside = {});

}  // namespace nccl_env
