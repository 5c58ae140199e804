// SPDX-License-Identifier: Apache-2.0
// Faults of what starts a job, which show where its ranks initialise one communicator: unlike numbers of
// ranks, or one rank that two processes take to be theirs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nccl_env/core/nccl_log/known_line.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

struct LaunchFault {
  std::vector<std::size_t> logs;  // the odd ones, ascending
  bool of_one_log = true;         // one log alone shows it
  std::string sentence;
  std::string row;                  // in short
  const KnownLine* told = nullptr;  // its meaning and remedy
  std::uint64_t line = 0;           // of the first odd log
};

// Names who tells a fact of a log: the log, or its processes.
using TellerName = std::function<std::string(std::size_t log, const LogFact& fact)>;

// Returns the first fault that the logs of one job show together; nothing where they agree, where NCCL itself
// tells such a fault, or where NCCL_COMM_ID gives all communicators one number.
std::optional<LaunchFault> find_launch_fault(std::span<const NcclLog* const> logs, const TellerName& name);
// Returns that of one log's processes, as a failure.
std::optional<NcclFailure> launch_failure(const NcclLog& log);

// Returns for each log the number of its job, from 0: logs with a common communicator are of one, and logs
// that tell none are of job 0.
std::vector<std::size_t> jobs_of(std::span<const NcclLog* const> logs);

}  // namespace nccl_env
