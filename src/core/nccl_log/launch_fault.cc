// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/launch_fault.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostTellers = 4, kMostTwins = 4;

constexpr KnownLine launch_row(std::string_view meaning, std::string_view remedy) {
  KnownLine row;
  row.kind = LineKind::Cause;
  row.code = Code::LaunchFailed;
  row.meaning = meaning;
  row.remedy = remedy;
  return row;
}

constexpr KnownLine kSizes = launch_row(
    "Ranks of one communicator come with unequal numbers of ranks: their world sizes differ.",
    "Compare WORLD_SIZE, nodes and processes for each node that the ranks were started with; look for "
    "ranks of an earlier run.");
constexpr KnownLine kTwins = launch_row(
    "Several processes of one communicator take one rank to be theirs, so others have none.",
    "Compare RANK, NODE_RANK (--node-rank) and LOCAL_RANK that the processes were started with; look "
    "for one that was started twice.");

// The logs that tell a number, and the processes in each.
using Tellers = std::vector<std::pair<std::size_t, const LogFact*>>;
struct Told {
  std::map<int, Tellers> sizes, ranks;
};

bool is_told_by_nccl(const NcclLog& log) {
  return log.values.contains("NCCL_COMM_ID") ||
         std::ranges::any_of(log.failures, [](const NcclFailure& failure) {
           return failure.text.find("mismatch in rank count") != std::string::npos ||
                  failure.text.find("has already checked in") != std::string::npos;
         });
}

std::map<std::string_view, Told> told_in(std::span<const NcclLog* const> logs) {
  std::map<std::string_view, Told> all;
  for (std::size_t log = 0; log < logs.size(); ++log) {
    for (const auto& [id, communicator] : logs[log]->communicators) {
      Told& told = all[id];
      for (const auto& [size, fact] : communicator.sizes) told.sizes[size].emplace_back(log, &fact);
      for (const auto& [rank, fact] : communicator.ranks) told.ranks[rank].emplace_back(log, &fact);
    }
  }
  return all;
}

// Several logs may hold one process's lines.
bool are_several(const Tellers& tellers, std::span<const NcclLog* const> logs) {
  std::set<std::string_view> processes;
  for (const auto& [log, fact] : tellers) {
    for (const std::uint32_t process : fact->processes)
      processes.insert(logs[log]->process_names.at(process));
  }
  return processes.size() > 1;
}

std::string teller_names(const Tellers& tellers, const TellerName& name) {
  return join_some(tellers, kMostTellers, [&](const auto& each) { return name(each.first, *each.second); });
}

void add_logs(const Tellers& tellers, LaunchFault& fault) {
  for (const auto& [log, fact] : tellers) {
    const auto at = std::ranges::lower_bound(fault.logs, log);
    if (at == fault.logs.end() || *at != log) fault.logs.insert(at, log);
    if (fault.line == 0) fault.line = fact->line;
  }
}

bool are_of_one_log(const Tellers& left, const Tellers& right) {
  return left.size() == 1 && right.size() == 1 && left.front().first == right.front().first;
}

LaunchFault of_sizes(std::string_view id, const std::map<int, Tellers>& sizes, const TellerName& name) {
  const auto usual = std::ranges::max_element(
      sizes, {}, [](const auto& each) { return std::pair(each.second.size(), each.first); });
  const bool all = std::ranges::all_of(
      sizes, [&](const auto& each) { return each.second.size() == usual->second.size(); });
  LaunchFault fault;
  fault.told = &kSizes;
  fault.sentence = "communicator " + std::string(id) + " has ";
  std::string_view before;
  for (const auto& [size, tellers] : sizes) {
    fault.sentence.append(before).append(count_of(static_cast<std::size_t>(size), "rank"));
    fault.sentence.append(" for ").append(teller_names(tellers, name));
    before = ", ";
    fault.of_one_log = fault.of_one_log && are_of_one_log(tellers, sizes.begin()->second);
    if (tellers.size() < usual->second.size() || all) add_logs(tellers, fault);
  }
  fault.row = "another world size";
  return fault;
}

}  // namespace

std::optional<LaunchFault> find_launch_fault(std::span<const NcclLog* const> logs, const TellerName& name) {
  if (std::ranges::any_of(logs, [](const NcclLog* log) { return is_told_by_nccl(*log); }))
    return std::nullopt;
  for (const auto& [id, told] : told_in(logs)) {
    if (told.sizes.size() > 1) return of_sizes(id, told.sizes, name);
    std::vector<std::pair<int, const Tellers*>> twins;
    for (const auto& [rank, tellers] : told.ranks) {
      if (are_several(tellers, logs)) twins.emplace_back(rank, &tellers);
    }
    if (twins.empty()) continue;
    LaunchFault fault;
    fault.told = &kTwins;
    for (const auto& [rank, tellers] : twins) add_logs(*tellers, fault);
    fault.sentence =
        "in communicator " + std::string(id) + " rank " + join_some(twins, kMostTwins, [&](const auto& each) {
          return std::to_string(each.first) + " is each of " + teller_names(*each.second, name);
        });
    fault.row = "rank told twice";
    fault.of_one_log = fault.logs.size() == 1;
    return fault;
  }
  return std::nullopt;
}

std::optional<NcclFailure> launch_failure(const NcclLog& log) {
  const NcclLog* const logs[] = {&log};
  const auto fault = find_launch_fault(logs, [&](std::size_t, const LogFact& fact) {
    return join_some(fact.processes, kMostTellers,
                     [&](std::uint32_t process) { return log.process_names.at(process); });
  });
  if (!fault) return std::nullopt;
  NcclFailure failure;
  failure.code = Code::LaunchFailed;
  failure.known = fault->told;
  failure.text = fault->sentence;
  failure.line = failure.last_line = fault->line;
  return failure;
}

std::vector<std::size_t> jobs_of(std::span<const NcclLog* const> logs) {
  // For each log, the first with which it shares a communicator, by however many steps.
  std::vector<std::size_t> first(logs.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  const auto root = [&](std::size_t log) {
    while (first[log] != log) log = first[log] = first[first[log]];
    return log;
  };
  std::map<std::string_view, std::size_t> by_id;
  for (std::size_t log = 0; log < logs.size(); ++log) {
    for (const auto& [id, communicator] : logs[log]->communicators) {
      const std::size_t left = root(by_id.emplace(id, log).first->second), right = root(log);
      first[std::max(left, right)] = std::min(left, right);
    }
  }
  std::map<std::size_t, std::size_t> numbers;
  std::vector<std::size_t> jobs(logs.size());
  for (std::size_t log = 0; log < logs.size(); ++log) {
    if (!logs[log]->communicators.empty())
      jobs[log] = numbers.emplace(root(log), numbers.size()).first->second;
  }
  return jobs;
}

}  // namespace nccl_env
