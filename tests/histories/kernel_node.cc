// SPDX-License-Identifier: Apache-2.0
#include "histories/kernel_node.h"

namespace nccl_env::histories {
namespace {

// Rows 0 and 1 are those of the link-local GID, whatever addresses there are.
constexpr int kFirstPlace = 2;

Gid ipv4_of(int rail) {
  Gid gid;
  gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, static_cast<std::uint8_t>(rail), 5};
  return gid;
}

Gid ipv6_of(int rail, std::uint8_t first, std::uint8_t second) {
  Gid gid;
  gid.bytes = {first, second, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(rail), 0, 0, 0, 0, 0, 0, 0, 5};
  return gid;
}

Port port_of(const std::string& hca, const std::string& netdev, double rate) {
  Port port;
  port.hca = hca;
  port.link_layer = LinkLayer::Ethernet;
  port.transport = Transport::RoCE;
  port.state = PortState::Active;
  port.rate_gbps = rate;
  port.driver = "mlx5_core";
  port.netdev = netdev;
  port.lag = "";
  port.pf_pci_address = "";
  port.gid_table_length = 256;
  port.gids.emplace();
  return port;
}

void add_row(Port& port, int index, const Gid& gid, GidType type) {
  GidRow& row = port.gids->emplace_back();
  row.index = index;
  row.gid = gid;
  row.type = type;
  row.netdev = port.netdev;
  if (!gid.is_link_local()) row.address = gid.address();
}

Interface interface_of(const std::string& name, const std::vector<Gid>& addresses) {
  Interface made;
  made.name = name;
  made.up = true;
  made.master = "";
  made.addresses.emplace();
  for (const Gid& gid : addresses) made.addresses->push_back({gid.address(), gid.is_v4_mapped() ? 24 : 64});
  return made;
}

}  // namespace

void KernelNode::boot() {
  ++boots_;
  if (dice_.once_in(50)) shifted_ = !shifted_;
  for (int number = 0; number < kRails; ++number) {
    Rail& rail = rails_.at(number) = {};
    rail.hca = "mlx5_" + std::to_string(number + (shifted_ ? 1 : 0));
    make_rows(rail, number);
  }
}

// Once in ten times the IPv6 address is there first, so that rows stand in another order.
void KernelNode::make_rows(Rail& rail, int number) {
  rail.rows.clear();
  rail.addresses.clear();
  const Gid link_local = ipv6_of(number, 0xfe, 0x80);
  rail.rows = {{0, {link_local, GidType::RoCEv1}}, {1, {link_local, GidType::RoCEv2}}};
  add_addresses(rail, number, dice_.once_in(10));
}

void KernelNode::add(Rail& rail, const Gid& address) {
  for (const GidType type : {GidType::RoCEv1, GidType::RoCEv2}) {
    int place = kFirstPlace;
    while (rail.rows.contains(place)) ++place;
    rail.rows[place] = {address, type};
  }
  rail.addresses.push_back(address);
}

void KernelNode::add_addresses(Rail& rail, int number, bool ipv6_first) const {
  if (network_.ipv6 && ipv6_first) add(rail, ipv6_of(number, 0x20, 0x01));
  add(rail, ipv4_of(number));
  if (network_.ipv6 && !ipv6_first) add(rail, ipv6_of(number, 0x20, 0x01));
}

void KernelNode::lose_carrier(int number) {
  Rail& rail = rails_.at(number);
  rail.up = false;
  if (!network_.addresses_go) return;
  rail.addresses.clear();
  for (auto& [place, row] : rail.rows) row.deleted = row.deleted || place >= kFirstPlace;
  std::erase_if(rail.rows, [](const auto& each) { return each.second.deleted && !each.second.held; });
}

void KernelNode::regain_carrier(int number) {
  Rail& rail = rails_.at(number);
  rail.up = true;
  const bool ipv6_first = dice_.once_in(2);
  if (network_.addresses_go) add_addresses(rail, number, ipv6_first);
}

void KernelNode::rename(int number) {
  rails_.at(number).hca = "mlx5_" + std::to_string(kRails + ++renamed_);
}

void KernelNode::give_back(int number) {
  rails_.at(number).taken = false;
  make_rows(rails_.at(number), number);
}

void KernelNode::hold_rows() {
  for (Rail& rail : rails_) {
    for (auto& [place, row] : rail.rows)
      row.held = row.held || (row.type == GidType::RoCEv2 && row.gid.is_v4_mapped() && !row.deleted);
  }
}

void KernelNode::release_rows() {
  for (Rail& rail : rails_) {
    std::erase_if(rail.rows, [](const auto& each) { return each.second.deleted; });
    for (auto& [place, row] : rail.rows) row.held = false;
  }
}

// Its address has index 5, which none of the rails has: there is no row 2 or 3.
NodeFabric KernelNode::management_only() const {
  NodeFabric table;
  table.name = kNode;
  table.boot_id = boot_id();
  table.node_interface = "eno1";
  table.rdma_namespace_mode = network_.exclusive ? RdmaNamespaceMode::Exclusive : RdmaNamespaceMode::Shared;
  Port& port = table.ports.emplace_back(port_of(management(), "eno1", 25));
  port.board_id = "MT_MANAGEMENT";
  port.pci_address = "0000:01:00.0";
  const Gid own = ipv4_of(100);
  add_row(port, 0, ipv6_of(100, 0xfe, 0x80), GidType::RoCEv1);
  add_row(port, 1, ipv6_of(100, 0xfe, 0x80), GidType::RoCEv2);
  add_row(port, 4, own, GidType::RoCEv1);
  add_row(port, 5, own, GidType::RoCEv2);
  table.interfaces = {interface_of("eno1", {own})};
  return table;
}

NodeFabric KernelNode::look() const {
  NodeFabric table = management_only();
  for (int number = 0; number < kRails; ++number) {
    const Rail& rail = rails_.at(number);
    if (rail.taken) continue;
    const std::string netdev = "eth" + std::to_string(number);
    Port& port = table.ports.emplace_back(port_of(rail.hca, netdev, rail.up ? 400 : 40));
    port.state = rail.up ? PortState::Active : PortState::Down;
    port.board_id = "MT_FABRIC";
    port.pci_address = "0000:" + std::to_string(10 + number) + ":00.0";
    for (const auto& [place, row] : rail.rows) {
      if (!row.deleted) add_row(port, place, row.gid, row.type);
    }
    table.interfaces->push_back(interface_of(netdev, rail.addresses));
  }
  return table;
}

}  // namespace nccl_env::histories
