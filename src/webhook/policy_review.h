// SPDX-License-Identifier: Apache-2.0
// POST /validate: an admission review of an NcclPolicy, answered with every finding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/result.h"

namespace nccl_env::webhook {

// etcd takes 1.5 MiB, a full policy is smaller than 200 kB, and an update's review holds it twice.
inline constexpr std::size_t kMaxPolicyReview = 1u << 20;
// Values of all kinds in a review; a full policy, twice with its managed fields, has fewer than 10 000. A
// tree takes up to 130 bytes for each value; in the text an empty object takes only three.
inline constexpr std::size_t kMaxPolicyValues = 32'768;

// The response document, or why the review is malformed: not JSON, nested deeper than 64 levels, a key twice
// in an object, more than kMaxPolicyValues. Objects of other kinds are allowed. Takes up to 16 MiB and time
// linear in the review's length, which the caller bounds to kMaxPolicyReview.
Result<std::string> answer_policy_review(std::string_view review, const PolicyOptions& options);

}  // namespace nccl_env::webhook
