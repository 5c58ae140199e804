// SPDX-License-Identifier: Apache-2.0
// Nodes and what is chosen of their ports, in as few words as the case needs.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/builders.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env::tests {

inline void is_down(Port& port) {
  port.state = PortState::Down;
}
inline void lose_row(Port& port) {
  port.gids->resize(2);  // the link-local rows stay
}
inline void lose_board(Port& port) {
  port.board_id.reset();
}

struct Node : NodeFabric {
  explicit Node(int rail_count) : NodeFabric(rails(rail_count)) {}

  Node& on(const std::string& interface) {
    node_interface = interface;
    return *this;
  }
  // mlx5_0 on eth0, before the rails: of their kind, or of the board.
  Node& management(const std::string& board = "", double rate = 200) {
    ports.insert(ports.begin(), roce_port("mlx5_0", "eth0", "10.0.60.3"));
    if (!board.empty()) ports.front().board_id = board;
    ports.front().rate_gbps = rate;
    return *this;
  }
  Node& storage(std::initializer_list<const char*> names, double rate = 200) {
    for (const char* hca : names) {
      ports.push_back(roce_port(hca, hca, "10.9.0.3"));
      ports.back().board_id = "MT_STORAGE";
      ports.back().rate_gbps = rate;
    }
    return *this;
  }
  // mlx5_… of InfiniBand, behind the others.
  Node& infiniband(int first, int last, const std::string& board = "") {
    for (int i = first; i <= last; ++i) {
      ports.push_back(ib_port("mlx5_" + std::to_string(i)));
      if (!board.empty()) ports.back().board_id = board;
    }
    return *this;
  }
  // The ports at the places from `first` on, up to `last` or to the end.
  Node& each(const std::function<void(Port&)>& change, std::size_t first = 0, std::size_t last = 255) {
    for (std::size_t i = first; i < ports.size() && i <= last; ++i) change(ports[i]);
    return *this;
  }
};

inline PortChoice choose(const NodeFabric& table, const FabricRule& rule = {},
                         Exposure exposure = Exposure::Host) {
  return choose_ports(table, rule, exposure, kNow);
}

inline std::string list(const NodeFabric& table, const FabricRule& rule = {},
                        Exposure exposure = Exposure::Host) {
  const PortChoice choice = choose(table, rule, exposure);
  return choice.reason ? std::string(to_string(*choice.reason)) : format_hca_list(table, choice.ports);
}

inline FabricRule hcas(const std::string& glob) {
  FabricRule rule;
  rule.hcas = {glob};
  return rule;
}

inline FabricRule expecting(int ports) {
  FabricRule rule;
  rule.expect_ports = ports;
  return rule;
}

inline constexpr const char* kAmbiguous = "AmbiguousFabric";
inline constexpr const char* kEightRails = "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8";

}  // namespace nccl_env::tests
