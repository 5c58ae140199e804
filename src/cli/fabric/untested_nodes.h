// SPDX-License-Identifier: Apache-2.0
// Nodes of a test that did not come, by what the cluster says of their pods.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/proof/answer.h"

namespace nccl_env::cli {

// `pods`: of the Job, as the API server gives them; `refusal`: why the Job could not make more of them, "" if
// it did not say. A pod that has no node yet may be that of any node without one.
std::vector<UntestedNode> untested_nodes(const std::vector<std::string>& nodes, const Proof& proof,
                                         const std::vector<nlohmann::json>& pods, const std::string& refusal);

}  // namespace nccl_env::cli
