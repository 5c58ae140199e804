// SPDX-License-Identifier: Apache-2.0
// The logs of a job's ranks side by side: the one that is nearest to the cause, and those that differ.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/nccl_log/rank_log.h"

namespace nccl_env {

struct RanksVerification {
  std::vector<std::size_t> order;        // of the ranks: the odd ones first
  std::vector<Finding> findings;         // of the job; `parts` are the ranks
  std::vector<std::string> differences;  // of each rank, by its place among them; "": it has what is usual
  std::string sentence;                  // the diagnosis
};

RanksVerification verify_ranks(const std::vector<RankLog>& ranks);

nlohmann::ordered_json to_json(const RanksVerification& verification, const std::vector<RankLog>& ranks);
std::string render_text(const RanksVerification& verification, const std::vector<RankLog>& ranks);

}  // namespace nccl_env
