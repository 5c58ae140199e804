// SPDX-License-Identifier: Apache-2.0
// Tables and policies for tests, in as few words as the case needs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env::tests {

inline const Timestamp kNow = *parse_timestamp("2026-11-20T08:00:00Z");

inline Gid gid(const std::string& text) {
  return *parse_gid(text);
}
inline Gid v4(const std::string& address) {
  return gid("::ffff:" + address);
}

inline GidRow row(int index, const Gid& value, GidType type, const std::string& netdev) {
  GidRow made{index, value, type, {}, netdev};
  if (value.is_v4_mapped()) made.address = value.address();
  return made;
}

// The four rows that mlx5 makes of one IPv4 address: link-local v1 and v2, then the address as v1 and v2.
inline std::vector<GidRow> usual_rows(const std::string& address, const std::string& netdev) {
  return {row(0, gid("fe80::1"), GidType::RoCEv1, netdev), row(1, gid("fe80::1"), GidType::RoCEv2, netdev),
          row(2, v4(address), GidType::RoCEv1, netdev), row(3, v4(address), GidType::RoCEv2, netdev)};
}

inline Port roce_port(const std::string& hca, const std::string& netdev, const std::string& address) {
  Port port;
  port.hca = hca;
  port.link_layer = LinkLayer::Ethernet;
  port.transport = Transport::RoCE;
  port.state = PortState::Active;
  port.rate_gbps = 200;
  port.driver = "mlx5_core";
  port.board_id = "MT_0000000223";
  port.gids = usual_rows(address, netdev);
  return port;
}

inline Port ib_port(const std::string& hca) {
  Port port;
  port.hca = hca;
  port.link_layer = LinkLayer::InfiniBand;
  port.transport = Transport::InfiniBand;
  port.state = PortState::Active;
  port.rate_gbps = 400;
  port.driver = "mlx5_core";
  port.board_id = "MT_0000000838";
  port.gids = std::vector<GidRow>{{0, gid("fe80::b83f:d203:b4:f5a2"), GidType::IB, {}, {}}};
  return port;
}

// `count` rails mlx5_1… on eth1…, one subnet each.
inline NodeFabric rails(int count) {
  NodeFabric table;
  table.name = "node-a";
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    table.ports.push_back(roce_port("mlx5_" + n, "eth" + n, "25.11." + n + ".2"));
  }
  return table;
}

inline Interface interface(const std::string& name, const std::string& address, int prefix, bool up = true,
                           const std::string& master = "") {
  Interface made;
  made.name = name;
  made.addresses = std::vector<InterfaceAddress>{{*parse_ip(address), prefix}};
  made.up = up;
  made.master = master;
  return made;
}

// Pins an index, so that a test sees which one.
inline NcclPolicy policy_for(const std::string& resource, std::optional<Exposure> exposure = {}) {
  NcclPolicy policy;
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
  policy.name = "p";
  policy.resources = {{resource, exposure}};
  return policy;
}

}  // namespace nccl_env::tests
