// SPDX-License-Identifier: Apache-2.0
// POST /validate: an admission review of an NcclPolicy, answered with every finding.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

// The response document, or why the review is malformed. Objects of other kinds are allowed.
Result<std::string> answer_policy_review(std::string_view review, const PolicyOptions& options);

}  // namespace nccl_env::app
