// SPDX-License-Identifier: Apache-2.0
// Small tables for the tests of NCCL's rules.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/gid.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/version.h"

namespace nccl_env::test {

inline NcclVersion version(std::string_view text) {
  return parse_nccl_version(text).value();
}

inline GidRow row(int index, std::string_view gid, std::optional<GidType> type) {
  GidRow result;
  result.index = index;
  result.gid = parse_gid(gid).value();
  result.type = type;
  return result;
}
inline GidRow v1(int index, std::string_view gid) {
  return row(index, gid, GidType::RoCEv1);
}
inline GidRow v2(int index, std::string_view gid) {
  return row(index, gid, GidType::RoCEv2);
}
inline GidRow untyped(int index, std::string_view gid) {
  return row(index, gid, std::nullopt);
}

inline Port roce(std::string hca, int number = 1) {
  Port port;
  port.hca = std::move(hca);
  port.number = number;
  port.link_layer = LinkLayer::Ethernet;
  port.transport = Transport::RoCE;
  port.state = PortState::Active;
  port.gid_table_length = 16;
  port.gids = std::vector<GidRow>{v1(0, "fe80::1"), v2(1, "fe80::1"), v1(2, "::ffff:10.1.2.3"),
                                  v2(3, "::ffff:10.1.2.3")};
  return port;
}

inline Port roce_with(std::vector<GidRow> rows, std::optional<int> length = 16) {
  Port port = roce("mlx5_0");
  port.gids = std::move(rows);
  port.gid_table_length = length;
  return port;
}

inline Port infiniband(std::string hca, int number = 1) {
  Port port;
  port.hca = std::move(hca);
  port.number = number;
  port.link_layer = LinkLayer::InfiniBand;
  port.transport = Transport::InfiniBand;
  port.state = PortState::Active;
  port.gid_table_length = 8;
  port.gids = std::vector<GidRow>{row(0, "fe80::506b:4b03:1:1", GidType::IB)};
  return port;
}

inline Interface interface(std::string name, const std::vector<std::string>& addresses,
                           std::optional<bool> up = true) {
  Interface result;
  result.name = std::move(name);
  result.addresses.emplace();
  for (const std::string& address : addresses) {
    result.addresses->push_back({parse_ip(address).value(), 24});
  }
  result.up = up;
  return result;
}

inline NodeFabric fabric(std::vector<Port> ports) {
  NodeFabric table;
  table.name = "node-1";
  table.ports = std::move(ports);
  table.interfaces = std::vector<Interface>{interface("eth0", {"192.168.0.5"})};
  return table;
}

inline NcclGid ask(const Port& port, const NcclEnv& env, std::string_view at) {
  return nccl_gid_index(port, env, version(at));
}

inline const std::vector<const char*> kVersionsThatSearch{"2.21.5", "2.22.3", "2.23.4", "2.26.2", "2.30.7"};

inline std::vector<std::string> names(const NcclSelection& selection) {
  std::vector<std::string> result;
  for (const auto& port : selection.ports) {
    result.push_back(port.hca + ":" + std::to_string(port.port));
  }
  return result;
}

inline std::string all_notes(const NcclSelection& selection) {
  std::string text;
  for (const std::string& note : selection.notes) {
    text += note + "\n";
  }
  return text;
}

}  // namespace nccl_env::test
