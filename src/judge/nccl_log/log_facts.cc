// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_facts.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

bool is_not_zero(std::string_view value) {
  return nccl_integer(value).value_or(0) != 0;
}

bool is_no_ib(std::string_view value) {
  return !lower_case(value).starts_with("ib");
}

// "IB on gpu-1; Socket on gpu-2": the first fact, and one of hosts that have not the first; "" if there is
// none.
std::string unlike_text(const NcclLog::Facts& facts, const NcclLog& log) {
  if (facts.size() < 2) return {};
  const auto& [first, of_first] = *facts.begin();
  const std::set<std::string> left = log.hosts_of(of_first.processes);
  for (const auto& [second, of_second] : facts) {
    const std::set<std::string> right = log.hosts_of(of_second.processes);
    if (left.empty() || right.empty() || meet(left, right)) continue;
    return first + " on " + join_some(left, 3) + "; " + second + " on " + join_some(right, 3);
  }
  return {};
}

using Call = decltype(RankCall::call);

std::string text_of(const Call& call) {
  return call.first == 0 ? "no time-out" : call.second + ", SeqNum " + std::to_string(call.first);
}

std::string waits_text(const Odd<Call>& odd) {
  if (odd.usual->first == 0) return {};
  return (odd.value.first < odd.usual->first ? "behind (" : "elsewhere (") + text_of(odd.value) +
         "), others wait in " + text_of(*odd.usual);
}

}  // namespace

std::vector<Difference> compare_calls(const std::vector<const NcclLog*>& logs) {
  std::vector<std::pair<RankCall, std::size_t>> ranks;  // and their logs
  std::set<decltype(RankCall::rank)> known;
  bool alike = true;  // all wait for one call
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const auto& [rank, call] : logs[i]->calls) {
      // A rank in two logs: of two jobs, or runs.
      if (rank.first == "?" || !known.insert(rank).second) return {};
      ranks.emplace_back(RankCall{rank, call}, i);
      alike = alike && rank.first.empty() && call == ranks.front().first.call;
    }
  }
  for (std::size_t i = 0; alike && i < logs.size(); ++i) {
    const NcclLog& log = *logs[i];
    const bool none = log.calls.empty();
    if (!log.speaks() || log.ended || (none && !log.failures.empty())) continue;
    if (none && log.own_ranks.empty()) ranks.emplace_back(RankCall{{"", -1}, {}}, i);
    for (const int rank : log.own_ranks) {
      if (known.emplace("", rank).second) ranks.emplace_back(RankCall{{"", rank}, {}}, i);
    }
  }
  const auto call_of = [&](std::size_t i) { return std::optional(ranks[i].first.call); };
  const auto group_of = [&](std::size_t i) { return std::optional(ranks[i].first.rank.first); };
  const auto number_of = [&](std::size_t i) { return std::to_string(ranks[i].first.rank.second); };
  auto found = differences<Call>(all_members(ranks.size()),
                                 {Code::TimedOut, Severity::Error, "", call_of, waits_text,
                                  "Look first at what that rank logs.", most_of<Call>, group_of});
  std::size_t of_job = 0;
  for (const NcclLog* log : logs) of_job = std::max(of_job, static_cast<std::size_t>(log->ranks));
  for (auto& [finding, members, others] : found) {
    const std::string numbers = join_some(members, 4, number_of);
    if (ranks[members.front()].first.rank.second >= 0)
      finding.sentence = (members.size() == 1 ? "rank " + numbers + " is " : "ranks " + numbers + " are ") +
                         finding.sentence;
    if (ranks[members.front()].first.call.first == 0 && of_job > ranks.size()) {
      finding.sentence = "who is behind is open, as there are logs of " + std::to_string(ranks.size()) +
                         " of " + count_of(of_job, "rank") + "; of these, " + finding.sentence;
      finding.remedy = "Read the logs of all ranks together: `nccl-env verify job/NAME`.";
    }
    for (std::size_t& member : members) member = ranks[member].second;
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }
  return found;
}

bool may_be_one_host(const NcclLog& log) {
  constexpr int kMostOnOneHost = 8;  // GPUs
  const auto of_sockets = [](const NcclFailure& each) {
    return each.code == Code::NoConnection || each.code == Code::NoInterface || !each.peer.empty();
  };
  const auto is_ib = [](const auto& each) { return each.second.starts_with("ib"); };
  return log.hosts <= 1 && log.nodes <= 1 && log.ranks <= kMostOnOneHost && log.transports.empty() &&
         log.devices.empty() && !log.values.contains(variable::kIbHca) &&
         std::ranges::none_of(log.interfaces, is_ib) && std::ranges::none_of(log.failures, of_sockets);
}

std::string listed(const NcclLog::Facts& facts) {
  return facts.empty() ? "-" : names_in(facts, ",");
}

std::optional<NcclFailure> mixed_networks(const NcclLog& log) {
  for (const NcclLog::Facts* facts : {&log.networks, &log.plugins}) {
    const std::string unlike = unlike_text(*facts, log);
    if (unlike.empty()) continue;
    const std::string none = log.no_device.empty() ? ""
                                                   : "; NET/IB found no device in line " +
                                                         std::to_string(first_line(log.no_device)) +
                                                         by_processes({0, processes_in(log.no_device)}, log);
    NcclFailure failure = failure_of(Code::MixedNetworks, unlike + none);
    failure.line = first_line(*facts);
    return failure;
  }
  return std::nullopt;
}

std::optional<NcclFailure> missing_plugin(const NcclLog& log) {
  const NcclLog::Facts& asked = log.read("NCCL_NET_PLUGIN");
  if (asked.empty() || !uses_sockets(log) || turned_off(log) || log.is_of_one_node() ||
      log.plugins.size() != 1 || !log.plugins.contains(kOwnPlugin))
    return std::nullopt;
  const std::string& plugin = asked.begin()->first;
  if (begins_with_any(plugin, {"none", "internal"})) return std::nullopt;
  NcclFailure failure = failure_of(
      Code::NetworkNotFound,
      "NCCL_NET_PLUGIN=" + plugin + " was not found, so NCCL took its own plugin and came to sockets");
  failure.line = failure.last_line = first_line(log.plugins);
  return failure;
}

std::set<std::uint32_t> processes_in(const NcclLog::Facts& facts) {
  std::set<std::uint32_t> processes;
  for (const auto& [what, fact] : facts) processes.insert(fact.processes.begin(), fact.processes.end());
  return processes;
}

std::string by_processes(const LogFact& fact, const NcclLog& log) {
  if (fact.processes.empty() || log.processes == 1) return {};
  return " (" + std::to_string(fact.processes.size()) + " of " + std::to_string(log.processes) +
         " processes)";
}

bool says(const NcclLog& log, std::string_view name, bool (*matches)(std::string_view)) {
  return std::ranges::any_of(keys_of(log.read(name)), matches);
}

std::string_view variable_of_sockets(const NcclLog& log) {
  if (says(log, variable::kIbDisable, is_not_zero)) return variable::kIbDisable;
  if (says(log, variable::kNet, is_no_ib)) return variable::kNet;
  const bool none = !log.no_device.empty() && log.devices.empty();
  return none && log.values.contains(variable::kIbHca) ? variable::kIbHca : std::string_view();
}

bool turned_off(const NcclLog& log) {
  return says(log, variable::kIbDisable, is_not_zero) || says(log, variable::kNet, is_no_ib);
}

bool uses_other_network(const NcclLog& log) {
  const std::set<std::string_view> own{"Socket", "IB", "IB-CAST", "IB-ROCM"};
  return !std::ranges::includes(own, keys_of(log.networks));
}

bool uses_sockets(const NcclLog& log) {
  return log.networks.contains("Socket") || log.transports.contains("NET/Socket") ||
         (!log.no_device.empty() && !uses_other_network(log));
}

std::uint64_t first_line(const NcclLog::Facts& facts) {
  const auto first = std::ranges::min_element(facts, {}, [](const auto& each) { return each.second.line; });
  return first == facts.end() ? 0 : first->second.line;
}

std::string missing_ranks(const std::set<int>& told, int all) {
  constexpr std::size_t kMostKnown = 256, kMostTold = 4;  // NcclLog keeps no more of them
  if (told.empty() || told.size() >= kMostKnown) return {};
  std::vector<std::string> missing;
  for (int rank = 0; rank < all && missing.size() < kMostKnown; ++rank) {
    if (!told.contains(rank)) missing.push_back(std::to_string(rank));
  }
  if (missing.empty() || missing.size() >= kMostKnown) return {};
  return (missing.size() == 1 ? "rank " : "ranks ") + join_some(missing, kMostTold) + " of " +
         std::to_string(all);
}

std::string line_text(std::uint64_t line) {
  return line > 0 ? "line " + std::to_string(line) + ": " : std::string();
}

bool is_index(std::string_view value) {
  return !value.empty() && nccl_integer(value).value_or(-1) >= 0;
}

}  // namespace nccl_env
