// SPDX-License-Identifier: Apache-2.0
// Sets ranks of a job apart by what their logs tell that ranks should have alike.
#pragma once

#include <string>
#include <vector>

#include "nccl_env/core/cohort/cohort.h"
#include "nccl_env/core/nccl_log/nccl_log.h"
#include "nccl_env/core/nccl_log/rank_logs.h"

namespace nccl_env {

// "IB,Socket"; "-" where there is none.
std::string listed(const NcclLog::Facts& facts);
// True if a rank came through its initialisation, for which all had to take part.
bool have_met(const std::vector<RankLog>& ranks);
// Returns the differences among the ranks, in the order of their subjects: network, links, HCAs,
// version, GID index, values, bootstrap interfaces, addresses. Sentences follow on the ranks' names.
std::vector<Difference> differences_of(const std::vector<RankLog>& ranks);

}  // namespace nccl_env
