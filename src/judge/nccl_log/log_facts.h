// SPDX-License-Identifier: Apache-2.0
// Small questions to a log's facts, and their words.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/cohort/cohort.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

inline constexpr int kMostListed = 32;  // of a list of devices, as NCCL reads it

// "mlx5_0:1, mlx5_1:1", of facts or an engine's lines.
std::string names_in(const auto& facts, std::string_view between = ", ") {
  return join(keys_of(facts), between);
}
std::string listed(const NcclLog::Facts& facts);                    // "IB,Socket"; "-" where there is none
std::set<std::uint32_t> processes_in(const NcclLog::Facts& facts);  // of all of them
std::uint64_t first_line(const NcclLog::Facts& facts);              // 0 where there are none
std::string by_processes(const LogFact& fact,
                         const NcclLog& log);  // " (2 of 8 processes)"; "" where one tells all
// "rank 3 of 4", "ranks 3, 5 of 8": those of all that are not told; "" where none is missing, or too many are
// there to be known.
std::string missing_ranks(const std::set<int>& told, int all);
// Finds the ranks that the others wait for, as PyTorch's watchdogs tell; their members are logs.
std::vector<Difference> compare_calls(const std::vector<const NcclLog*>& logs);
std::string line_text(std::uint64_t line);  // "line 4: "; "" without one
// True if nothing in the log shows a second host, nor that one is wanted: its job may be of one node, where
// NCCL needs no network.
bool may_be_one_host(const NcclLog& log);
// The failure of hosts that use unlike networks or plugins, of which no line tells; nothing where they agree.
std::optional<NcclFailure> mixed_networks(const NcclLog& log);
// Compares the hosts of one log as the logs of ranks are (rank_logs.cc), as far as its lines name their
// processes.
std::vector<Finding> compare_hosts(const NcclLog& log);
// The failure of a plugin that NCCL was told to use and did not find, where it came to sockets; nothing else.
std::optional<NcclFailure> missing_plugin(const NcclLog& log);
// True if NCCL reads a value of the variable that matches.
bool says(const NcclLog& log, std::string_view name, bool (*matches)(std::string_view));
bool is_index(std::string_view value);  // of a GID: not one that leaves the choice to NCCL
bool turned_off(const NcclLog& log);    // InfiniBand and RoCE, by a variable
// The variable by which NCCL comes to sockets: one that turns the fabric off, or a list of which it finds no
// device; "" where the log tells none.
std::string_view variable_of_sockets(const NcclLog& log);
// True if the log names a plugin's network, such as "AWS Libfabric". RCCL has two of its own whose lines and
// variables are NET/IB's (ROCm 7.14, net_ib_cast/init.cc).
bool uses_other_network(const NcclLog& log);
bool uses_sockets(const NcclLog& log);

}  // namespace nccl_env
