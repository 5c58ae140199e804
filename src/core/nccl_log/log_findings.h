// SPDX-License-Identifier: Apache-2.0
// The findings of a log.
#pragma once

#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/nccl_log/log_verification.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

// The cause first. A value that failed stands with its failure. Failures that do not count are only to know.
// Notes what else is worth knowing in the verification.
std::vector<Finding> findings_of(const std::vector<Value>& spec, const NcclLog& log,
                                 LogVerification& verification);

}  // namespace nccl_env
