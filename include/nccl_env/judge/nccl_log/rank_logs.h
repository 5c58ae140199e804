// SPDX-License-Identifier: Apache-2.0
// The logs of a job's ranks side by side: the one that is nearest to the cause, and those that differ.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

struct RankLog {
  std::string name;     // of the pod or file
  std::string problem;  // why its log could not be read; then the rest is empty
  NcclLog log;
  LogVerification verification;
  bool by_hand = false;  // a file that was named, so that NCCL's lines are expected in it

  // True if the log was read and has a line that is known here.
  [[nodiscard]] bool speaks() const { return problem.empty() && log.speaks(); }
};

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
