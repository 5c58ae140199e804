// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <algorithm>
#include <utility>

namespace nccl_env::listing {

// A path of a file, in messages.
constexpr std::size_t kLongestName = 200;
namespace {

std::string name_of(const Port& port) {
  return port.hca + " port " + std::to_string(port.number);
}

// Returns the type that the listing names, else the only one that the port allows.
std::optional<GidType> type_of(const Port& port, const RowFacts& row) {
  if (row.row.type) return row.row.type;
  if (port.link_layer == LinkLayer::InfiniBand) return GidType::IB;
  if (row.not_v2 && port.transport == Transport::RoCE) return GidType::RoCEv1;
  return std::nullopt;
}

GidRow finish_row(const Port& port, const RowFacts& told) {
  GidRow row = told.row;
  row.type = type_of(port, told);
  // An InfiniBand GID is a subnet prefix and a GUID, whatever it looks like.
  const bool is_roce = row.type && *row.type != GidType::IB;
  const bool is_global = !row.gid.is_link_local() && !row.gid.is_zero();
  if (row.gid.is_v4_mapped() ? row.type != GidType::IB : is_roce && is_global)
    row.address = row.gid.address();
  return row;
}

// The netdev that every row names.
std::optional<std::string> common_netdev(const std::map<int, RowFacts>& rows) {
  if (rows.empty()) return std::nullopt;
  const std::optional<std::string>& first = rows.begin()->second.row.netdev;
  const auto is_same = [&](const auto& row) { return row.second.row.netdev == first; };
  return std::ranges::all_of(rows, is_same) ? first : std::nullopt;
}

}  // namespace

void Facts::problem(int line, std::string message) {
  if (++problem_count > kMostProblems) return;
  Subject subject{.kind = "File", .name = printable(file, kLongestName)};
  if (line > 0) subject.path = std::to_string(line);
  problems.push_back({Code::ListingLine, Severity::Error, std::move(subject), std::move(message)});
}

PortFacts* Facts::find(std::string_view hca, int number) {
  const auto told = std::ranges::find_if(
      ports, [&](const PortFacts& each) { return each.port.number == number && each.port.hca == hca; });
  return told == ports.end() ? nullptr : &*told;
}

PortFacts* Facts::add(PortFacts told) {
  if (const PortFacts* first = find(told.port.hca, told.port.number)) {
    problem(told.line, name_of(told.port) + " stands twice, first in line " + std::to_string(first->line));
    return nullptr;
  }
  if (ports.size() == kMaxTablePorts) {
    problem(told.line, "expected at most " + std::to_string(kMaxTablePorts) + " ports");
    return nullptr;
  }
  return &ports.emplace_back(std::move(told));
}

void Facts::add_row(PortFacts& told, RowFacts row) {
  const std::string what = "row " + std::to_string(row.row.index) + " of " + name_of(told.port);
  if (const auto known = told.rows.find(row.row.index); known != told.rows.end()) {
    return problem(row.line, what + " stands twice, first in line " + std::to_string(known->second.line));
  }
  if (rows_ == kMaxTableRows) {
    return problem(row.line, "expected at most " + std::to_string(kMaxTableRows) + " rows in all");
  }
  ++rows_;
  told.rows.emplace(row.row.index, std::move(row));
}

Port make_port(const PortFacts& told) {
  Port port = told.port;
  if (!port.netdev) port.netdev = common_netdev(told.rows);
  const auto is_v2 = [](const auto& row) { return row.second.row.type == GidType::RoCEv2; };
  if (!port.transport && std::ranges::any_of(told.rows, is_v2)) port.transport = Transport::RoCE;
  // A listing without rows doesn't tell that there are none, unless it says so.
  if (!told.rows.empty() || (told.no_gid && port.link_layer != LinkLayer::InfiniBand)) port.gids.emplace();
  for (const auto& [index, row] : told.rows) {
    if (!row.row.gid.is_zero()) port.gids->push_back(finish_row(port, row));
  }
  return port;
}

}  // namespace nccl_env::listing
