// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/port_history.h"

#include <algorithm>

#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::node {
namespace {

std::optional<double> higher(std::optional<double> left, std::optional<double> right) {
  return left && right ? std::max(*left, *right) : left ? left : right;
}

// Of HCAs, what these are members of, and others that have an address.
bool lists(const NodeFabric& table, const std::string& interface) {
  return table.interfaces && std::any_of(table.interfaces->begin(), table.interfaces->end(),
                                         [&](const Interface& each) { return each.name == interface; });
}

}  // namespace

void PortHistory::resume(const NodeFabric& earlier, const std::optional<std::string>& boot_id) {
  if (!boot_id || earlier.boot_id != boot_id) return;
  for (const Port& port : earlier.ports) {
    records_.insert_or_assign(
        {port.hca, port.number},
        Record{port.state, port.state_since, higher(port.max_rate_gbps, rate_of(port)), port.board_id});
  }
  node_interface_ = earlier.node_interface;
}

void PortHistory::note(NodeFabric& table, Timestamp now) {
  std::map<std::pair<std::string, int>, Record> noted;
  for (Port& port : table.ports) {
    const std::pair key{port.hca, port.number};
    const auto found = records_.find(key);
    const bool same = found != records_.end() &&
                      (!port.board_id || !found->second.board || port.board_id == found->second.board);
    const Record before = same ? found->second : Record{};
    Record& record = noted[key];
    record.board = port.board_id ? port.board_id : before.board;
    record.max_rate = port.max_rate_gbps = higher(before.max_rate, rate_of(port));
    note_state(before, port, record, now);
  }
  records_ = std::move(noted);
  if (!table.node_interface && node_interface_ && lists(table, *node_interface_))
    table.node_interface = node_interface_;
  if (table.node_interface) node_interface_ = table.node_interface;
}

void PortHistory::note_state(const Record& before, Port& port, Record& noted, Timestamp now) {
  if (!port.state) {
    noted.state = before.state;
    noted.since = before.since;
    return;
  }
  noted.state = port.state;
  if (before.state) noted.since = before.state == port.state ? before.since : now;
  port.state_since = noted.since;
}

}  // namespace nccl_env::node
