// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/port_history.h"

#include <algorithm>

#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::node {
namespace {

std::optional<double> higher(std::optional<double> left, std::optional<double> right) {
  return left && right ? std::max(*left, *right) : left ? left : right;
}

// True for rows of an address that is followed; link-local ones are not.
bool is_followed(const GidRow& row) {
  return row.type == GidType::RoCEv2 && !row.gid.is_zero() && !row.gid.is_link_local();
}

std::pair<std::string, Gid> address_of(const GidRow& row) {
  return {row.netdev.value_or(""), row.gid};
}

// Returns what stays true of a port while a pod holds its device; without a name if no pod can.
Port hardware_of(const Port& port) {
  Port kept;
  if (port.unavailable == Unavailable::NoVerbs) return kept;
  kept.hca = port.hca;
  kept.number = port.number;
  kept.unavailable = Unavailable::OtherNamespace;
  kept.link_layer = port.link_layer;
  kept.transport = port.transport;
  kept.max_rate_gbps = port.max_rate_gbps;
  kept.driver = port.driver;
  kept.pci_address = port.pci_address;
  kept.pf_pci_address = port.pf_pci_address;
  if (const auto netdevs = netdevs_of(port); !netdevs.empty()) kept.netdev = netdevs.front();
  kept.numa_node = port.numa_node;
  kept.board_id = port.board_id;
  kept.sys_image_guid = port.sys_image_guid;
  return kept;
}

// A table lists the interfaces of HCAs, their masters, and others that have an address.
bool lists(const NodeFabric& table, const std::string& interface) {
  return table.interfaces && std::ranges::count(*table.interfaces, interface, &Interface::name) > 0;
}

}  // namespace

void PortHistory::resume(const NodeFabric& earlier, const std::optional<std::string>& boot_id) {
  if (!boot_id || earlier.boot_id != boot_id) return;
  for (const Port& port : earlier.ports) {
    Record& record = records_[{port.hca, port.number}];
    record = {port.state, port.state_since, higher(port.max_rate_gbps, rate_of(port)), port.board_id,
              {},         hardware_of(port)};
    record.rows.changes = port.gid_index_changes;
    for (const auto& [rows, here] : {std::pair(&port.gids, true), std::pair(&port.gids_gone, false)}) {
      for (const GidRow& row : rows->value_or(std::vector<GidRow>())) {
        if (is_followed(row)) record.rows.places.try_emplace(address_of(row), Place{row, here});
      }
    }
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
    record.rows = before.rows;
    note_rows(record.rows, port, now);
    port.gids_gone = gone_from(port, record.rows);
    record.hardware = hardware_of(port);
  }
  if (table.rdma_namespace_mode == RdmaNamespaceMode::Exclusive) keep_away(table, noted);
  records_ = std::move(noted);
  if (!table.node_interface && node_interface_ && lists(table, *node_interface_))
    table.node_interface = node_interface_;
  if (table.node_interface) node_interface_ = table.node_interface;
}

// Virtual functions come and go with pods, and a soft device or a name that is gone is no pod's.
void PortHistory::keep_away(NodeFabric& table, std::map<std::pair<std::string, int>, Record>& noted) const {
  for (const auto& [key, record] : records_) {
    const Port& gone = record.hardware;
    const bool renamed = std::any_of(table.ports.begin(), table.ports.end(), [&](const Port& port) {
      return !port.unavailable && port.pci_address && port.pci_address == gone.pci_address;
    });
    if (noted.contains(key) || gone.hca.empty() || renamed || !gone.pf_pci_address.value_or("").empty() ||
        is_soft_device(gone.hca, gone.driver.value_or("")) || table.ports.size() >= kMaxTablePorts)
      continue;
    noted.emplace(key, record);
    table.ports.push_back(gone);
    table.ports.back().gids_gone = gone_from(gone, record.rows);
  }
}

// Rows that could not be read do not count as gone.
void PortHistory::note_rows(Rows& rows, Port& port, Timestamp now) {
  if (!port.gids) return;
  int changes = rows.changes.value_or(0);
  std::map<std::pair<std::string, Gid>, Place> here;
  for (GidRow& row : *port.gids) {
    // The lowest counts where several rows have one address.
    if (!is_followed(row)) continue;
    if (here.contains(address_of(row))) continue;
    if (const auto found = rows.places.find(address_of(row)); found != rows.places.end()) {
      const Place& before = found->second;
      row.index_since = before.row.index == row.index ? before.row.index_since : now;
      changes += before.here && before.row.index != row.index ? 1 : 0;
    }
    here.try_emplace(address_of(row), Place{row});
  }
  std::vector<std::pair<Timestamp, std::pair<std::string, Gid>>> gone;  // the oldest first
  for (auto& [key, place] : rows.places) {
    if (here.contains(key)) continue;
    changes += place.here ? 1 : 0;
    if (std::exchange(place.here, false)) place.since = now;
    gone.emplace_back(place.since, key);
  }
  std::sort(gone.begin(), gone.end());
  for (std::size_t i = 0; i + kMostRowsGone < gone.size(); ++i) rows.places.erase(gone[i].second);
  here.merge(rows.places);
  rows.places = std::move(here);
  if (rows.places.empty()) return;
  rows.changes = port.gid_index_changes = std::min(changes, kMaxIndexChanges);
}

// A restarted agent knows an address by its row in the table, so those that the table shows nowhere else are
// told.
std::optional<std::vector<GidRow>> PortHistory::gone_from(const Port& port, const Rows& rows) {
  std::vector<GidRow> gone;
  for (const auto& [address, place] : rows.places) {
    if ((!place.here || !port.gids) && gone.size() < kMostRowsGone) gone.push_back(place.row);
  }
  return gone.empty() ? std::nullopt : std::optional(std::move(gone));
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
