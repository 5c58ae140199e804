// SPDX-License-Identifier: Apache-2.0
// Healthy fleets of each kind of fabric, to plant faults in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/builders.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/doctor/doctor.h"
#include "support/matchers.h"

namespace nccl_env::tests {

using Fleet = std::vector<NodeFabric>;
using MakeNode = std::function<NodeFabric(int number)>;

inline Fleet fleet_of(int count, const MakeNode& make) {
  Fleet fleet;
  for (int n = 0; n < count; ++n) {
    NodeFabric node = make(n);
    node.name = "gpu-" + std::to_string(n);
    node.time = kNow - std::chrono::minutes(n % 70);
    fleet.push_back(std::move(node));
  }
  return fleet;
}

inline std::string in_subnet(int rail, int n) {
  return "10." + std::to_string(rail) + "." + std::to_string(n / 250) + "." + std::to_string(n % 250 + 1);
}

inline void add_netdev(NodeFabric& node, const std::string& name, const std::string& address, int prefix,
                       const std::string& master = "") {
  if (!node.interfaces) node.interfaces.emplace();
  Interface made = interface(name, address, prefix, true, master);
  made.mtu = 4200;
  node.interfaces->push_back(made);
}

// Eight rails, a /16 each, beside a management NIC of the same maker.
inline NodeFabric roce_node(int n) {
  NodeFabric node;
  node.node_interface = "eth0";
  for (int rail = 1; rail <= 8; ++rail) {
    const std::string netdev = "eth" + std::to_string(rail);
    Port port = roce_port("mlx5_" + std::to_string(rail), netdev, in_subnet(rail, n));
    port.active_mtu = 4096;
    port.pci_address = "0000:" + std::to_string(10 + rail) + ":00.0";
    node.ports.push_back(port);
    add_netdev(node, netdev, in_subnet(rail, n), 16);
  }
  Port management = roce_port("mlx5_0", "eth0", in_subnet(200, n));
  management.rate_gbps = 25;
  management.board_id = "MT_0000000359";
  management.active_mtu = 1024;
  management.pci_address = "0000:01:00.0";
  node.ports.push_back(management);
  add_netdev(node, "eth0", in_subnet(200, n), 16);
  return node;
}

// Eight InfiniBand HCAs beside two storage NICs on Ethernet.
inline NodeFabric ib_node(int n) {
  NodeFabric node;
  node.node_interface = "eno1";
  for (int rail = 0; rail < 8; ++rail) {
    Port port = ib_port("mlx5_" + std::to_string(rail));
    Gid guid = gid("fe80::b83f:d203:0:0");
    guid.bytes[14] = static_cast<std::uint8_t>(n);
    guid.bytes[15] = static_cast<std::uint8_t>(rail);
    port.gids = std::vector<GidRow>{{0, guid, GidType::IB, {}, {}}};
    port.active_mtu = 4096;
    node.ports.push_back(port);
  }
  for (int nic = 8; nic < 10; ++nic) {
    Port port = roce_port("mlx5_" + std::to_string(nic), "eno" + std::to_string(nic), in_subnet(nic, n));
    port.rate_gbps = 100;
    port.board_id = "MT_0000000359";
    node.ports.push_back(port);
  }
  return node;
}

// Two eRDMA devices, both in one vSwitch.
inline NodeFabric erdma_node(int n) {
  NodeFabric node;
  node.node_interface = "eth0";
  for (int rail = 0; rail < 2; ++rail) {
    const std::string netdev = "eth" + std::to_string(rail);
    Port port = roce_port("erdma_" + std::to_string(rail), netdev, in_subnet(rail + 1, n));
    port.transport = Transport::eRDMA;
    port.driver = "erdma";
    port.board_id.reset();
    port.active_mtu = 1024;
    port.pci_address = "0000:00:0" + std::to_string(5 + rail) + ".0";
    port.gids = std::vector<GidRow>{row(0, v4(in_subnet(rail + 1, n)), GidType::RoCEv1, netdev)};
    node.ports.push_back(port);
    add_netdev(node, netdev, in_subnet(rail + 1, n), 8);
  }
  return node;
}

// Four bonds of two ports; the address is the bond's, and so is the row.
inline NodeFabric lag_node(int n) {
  NodeFabric node;
  for (int rail = 0; rail < 4; ++rail) {
    const std::string bond = "bond" + std::to_string(rail);
    Port port = roce_port("mlx5_bond_" + std::to_string(rail), bond, in_subnet(rail + 1, n));
    port.lag = bond;
    port.rate_gbps = 400;
    port.active_mtu = 4096;
    node.ports.push_back(port);
    add_netdev(node, bond, in_subnet(rail + 1, n), 16);
  }
  node.node_interface = "eno1";
  return node;
}

// Cards of two functions; the second ones have no cable anywhere. Links are /31, one subnet each.
inline NodeFabric dual_port_node(int n) {
  NodeFabric node;
  node.node_interface = "eno1";
  for (int card = 0; card < 4; ++card) {
    for (int function = 0; function < 2; ++function) {
      const std::string netdev = "enp" + std::to_string(card) + "s0f" + std::to_string(function);
      const std::string address =
          "10." + std::to_string(card + 1) + "." + std::to_string(n) + "." + std::to_string(2 * function);
      Port port = roce_port("roce" + netdev.substr(2), netdev, address);
      port.active_mtu = 4096;
      if (function == 1) {
        port.state = PortState::Down;
        port.state_since = kNow - std::chrono::hours(1000);
        port.rate_gbps = 10;
        port.active_mtu = 1024;
        port.gids.emplace();
      } else {
        add_netdev(node, netdev, address, 31);
      }
      node.ports.push_back(port);
    }
  }
  return node;
}

// Hosts of macvlan pods: the masters have link-local rows only, VFs come and go.
inline NodeFabric sub_interface_node(int n) {
  NodeFabric node = roce_node(n);
  node.rdma_namespace_mode = RdmaNamespaceMode::Shared;
  node.interfaces.reset();
  for (std::size_t i = 0; i < 8; ++i) {
    Port& port = node.ports[i];
    port.gids = std::vector<GidRow>{row(0, gid("fe80::1"), GidType::RoCEv1, "eth1"),
                                    row(1, gid("fe80::1"), GidType::RoCEv2, "eth1")};
  }
  for (int vf = 0; vf < n % 3; ++vf) {
    Port port = roce_port("mlx5_" + std::to_string(20 + vf), "eth1v" + std::to_string(vf), "10.99.0.1");
    port.pf_pci_address = node.ports[0].pci_address;
    node.ports.push_back(port);
  }
  return node;
}

struct FleetKind {
  std::string name;
  MakeNode make;
};

inline std::vector<FleetKind> fleet_kinds() {
  return {{"RoCE", roce_node},          {"IB", ib_node},
          {"eRDMA", erdma_node},        {"LAG", lag_node},
          {"DualPort", dual_port_node}, {"SubInterface", sub_interface_node}};
}

// Of the third and the fourth rail.
inline void exchange_cables(NodeFabric& node) {
  std::swap(node.ports[2].gids, node.ports[3].gids);
  std::swap((*node.interfaces)[2].name, (*node.interfaces)[3].name);
  for (GidRow& each : *node.ports[2].gids) each.netdev = "eth3";
  for (GidRow& each : *node.ports[3].gids) each.netdev = "eth4";
}

inline DoctorInput input_of(const Fleet& fleet, const std::vector<NcclPolicy>& policies = {}) {
  DoctorInput input;
  for (const NodeFabric& node : fleet) input.tables.push_back(std::make_shared<const NodeFabric>(node));
  for (const NcclPolicy& policy : policies)
    input.policies.push_back(std::make_shared<const NcclPolicy>(policy));
  input.now = kNow;
  return input;
}

inline Diagnosis diagnose(const Fleet& fleet, const std::vector<NcclPolicy>& policies = {}) {
  return diagnose(input_of(fleet, policies));
}

// Moves the row that carries traffic behind a link-local one, at which NCCL's own search ends.
inline void lead_astray(Port& port) {
  GidRow before = port.gids->back();
  before.gid = v4("169.254.3.9");
  before.address = *parse_ip("169.254.3.9");
  port.gids->back().index = 5;
  port.gids->insert(port.gids->end() - 1, before);
}

inline Finding only_finding(const Diagnosis& diagnosis) {
  EXPECT_EQ(diagnosis.findings.size(), 1u) << render_text(diagnosis);
  return diagnosis.findings.empty() ? Finding() : diagnosis.findings[0];
}

// "error PortDown gpu-17 mlx5_3" of each port that a finding names, without what is only to know.
inline std::vector<std::string> faults(const Diagnosis& diagnosis) {
  std::vector<std::string> texts;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity == Severity::Info) continue;
    const std::string text = std::string(to_string(finding.severity)) + " " +
                             std::string(to_string(finding.code)) + " " + finding.subject.name;
    if (finding.subject.parts.empty()) texts.push_back(text);
    for (const std::string& part : finding.subject.parts) texts.push_back(text + " " + part);
  }
  return texts;
}

}  // namespace nccl_env::tests
