// SPDX-License-Identifier: Apache-2.0
// NcclPolicy objects as Kubernetes or a file holds them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/result.h"

namespace nccl_env {

struct PolicyReading {
  std::optional<NcclPolicy> policy;  // absent if there is an error among the findings
  // PolicyField, in the order of docs/use/policy.md, at most about a hundred. The path is that of the field,
  // such as spec.env.NCCL_IB_RETRY_CNT; the sentence says what is wrong and what is accepted.
  std::vector<Finding> findings;
};

// Reads an NcclPolicy object, applies the defaults and reports every finding, not just the first.
// Unknown fields under spec are errors: a misspelt condition must not widen a policy.
// Server-set metadata and `status` are ignored, except status.maxTableAgeSeconds,
// status.resolverImage and status.carrier.
PolicyReading read_policy(const nlohmann::json& object, const PolicyOptions& options);
// From JSON text of at most 8 MiB. A key that stands twice in an object that is read is an error.
PolicyReading read_policy(std::string_view text, const PolicyOptions& options);
// read_policy for callers that want one sentence: all errors joined by "; ".
Result<NcclPolicy> parse_policy(const nlohmann::json& object, const PolicyOptions& options);
Result<NcclPolicy> parse_policy(std::string_view text, const PolicyOptions& options);

}  // namespace nccl_env
