// SPDX-License-Identifier: Apache-2.0
// The verdict of a log on one value that the pod was given.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

VerifiedValue judge_value(const NcclLog& log, const Value& given);
bool is_bad(LogVerdict verdict);  // neither used nor unseen
// Returns "2 of 4: not mlx5_8, mlx5_9" if no device of `devices` is an entry's. `exact`: of a list without
// "=", too. "" where all entries are found, or nothing can be told.
std::string partly_used(const NcclLog& log, std::string_view list, bool exact,
                        const std::vector<std::string>& devices);
// The devices of the processes; of all, where none is named.
std::vector<std::string> devices_of(const NcclLog& log, const std::set<std::uint32_t>& processes);

}  // namespace nccl_env
