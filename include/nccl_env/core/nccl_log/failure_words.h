// SPDX-License-Identifier: Apache-2.0
// Meaning and remedy of a failure, as near as its own words allow: one code holds failures of several
// libraries and causes.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

struct FailureWords {
  std::string meaning;
  std::string remedy;
};

// Returns the words of the failure's code, or nearer ones where the failure's text has them. `variable`:
// whose value is known to be the cause, or "".
FailureWords words_of(const NcclFailure& failure, const NcclLog& log, std::string_view variable);

}  // namespace nccl_env
