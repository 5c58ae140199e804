// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_facts.h"

#include <algorithm>
#include <array>
#include <set>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

bool is_not_zero(std::string_view value) {
  return nccl_integer(value).value_or(0) != 0;
}

bool is_no_ib(std::string_view value) {
  return value.size() < 2 || (value[0] != 'I' && value[0] != 'i') || (value[1] != 'B' && value[1] != 'b');
}

// "IB on gpu-1; Socket on gpu-2": the first fact, and one of hosts that have not the first; "" if there is
// none.
std::string unlike_text(const NcclLog::Facts& facts, const NcclLog& log) {
  if (facts.size() < 2) return {};
  const auto& [first, of_first] = *facts.begin();
  const std::set<std::string> left = log.hosts_of(of_first.processes);
  for (const auto& [second, of_second] : facts) {
    const std::set<std::string> right = log.hosts_of(of_second.processes);
    const auto is_common = [&](const std::string& host) { return left.contains(host); };
    if (left.empty() || right.empty() || std::ranges::any_of(right, is_common)) continue;
    return first + " on " + join_some(left, 3) + "; " + second + " on " + join_some(right, 3);
  }
  return {};
}

}  // namespace

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

std::optional<NcclFailure> mixed_networks(const NcclLog& log) {
  for (const NcclLog::Facts* facts : {&log.networks, &log.plugins}) {
    const std::string unlike = unlike_text(*facts, log);
    if (unlike.empty()) continue;
    NcclFailure failure = failure_of(Code::MixedNetworks, unlike);
    failure.line = first_line(*facts);
    return failure;
  }
  return std::nullopt;
}

std::optional<NcclFailure> missing_plugin(const NcclLog& log) {
  constexpr std::string_view kOwn = "NCCL's own plugin";
  const auto asked = log.values.find("NCCL_NET_PLUGIN");
  if (asked == log.values.end() || !uses_sockets(log) || turned_off(log) || log.is_of_one_node() ||
      log.plugins.size() != 1 || !log.plugins.contains(kOwn))
    return std::nullopt;
  const auto& [plugin, fact] = *asked->second.begin();
  if (plugin.starts_with("none") || plugin.starts_with("internal")) return std::nullopt;
  NcclFailure failure = failure_of(
      Code::NetworkNotFound,
      "NCCL_NET_PLUGIN=" + plugin + " was not found, so NCCL took its own plugin and came to sockets");
  failure.line = failure.last_line = first_line(log.plugins);
  return failure;
}

std::string names_in(const NcclLog::Facts& facts) {
  return join(facts, ", ", [](const auto& fact) -> const std::string& { return fact.first; });
}

std::string by_processes(const LogFact& fact, const NcclLog& log) {
  if (fact.processes.empty() || log.processes == 1) return {};
  return " (" + std::to_string(fact.processes.size()) + " of " + std::to_string(log.processes) +
         " processes)";
}

bool says(const NcclLog& log, std::string_view name, bool (*matches)(std::string_view)) {
  const auto found = log.values.find(name);
  return found != log.values.end() &&
         std::ranges::any_of(found->second, [&](const auto& each) { return matches(each.first); });
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
  constexpr std::array<std::string_view, 4> kOwn{"Socket", "IB", "IB-CAST", "IB-ROCM"};
  return std::ranges::any_of(
      log.networks, [&](const auto& each) { return std::ranges::find(kOwn, each.first) == kOwn.end(); });
}

bool uses_sockets(const NcclLog& log) {
  return log.networks.contains("Socket") || log.transports.contains("NET/Socket") ||
         (!log.no_device.empty() && !uses_other_network(log));
}

std::uint64_t first_line(const NcclLog::Facts& facts) {
  std::uint64_t first = 0;
  for (const auto& [what, fact] : facts) first = first == 0 ? fact.line : std::min(first, fact.line);
  return first;
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
