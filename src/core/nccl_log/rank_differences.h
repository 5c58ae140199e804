// SPDX-License-Identifier: Apache-2.0
// Sets ranks of a job apart by what their logs tell that ranks should have alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/nccl_log/nccl_log.h"
#include "nccl_env/core/nccl_log/rank_log.h"

namespace nccl_env {

struct RankDifference {
  Code code = Code::OddNode;
  Severity severity = Severity::Warning;
  std::vector<std::size_t> ranks;  // ascending
  std::string sentence;            // behind the ranks' names
  std::string row;                 // of each of these ranks: "- mlx5_4:1"; "" where it has what is usual
  std::string remedy;              // "": the code's
  bool odd = true;                 // these ranks are told before others
};

// True if the log was read and has a line that is known here.
bool speaks(const RankLog& rank);
// "IB,Socket"; "-" where there is none.
std::string listed(const NcclLog::Facts& facts);
// True if a rank came through its initialisation, for which all had to take part.
bool have_met(const std::vector<RankLog>& ranks);
// Returns the differences among the ranks, in the order of their subjects: network, links, HCAs,
// version, GID index, values, bootstrap interfaces, addresses.
std::vector<RankDifference> differences_of(const std::vector<RankLog>& ranks);

}  // namespace nccl_env
