// SPDX-License-Identifier: Apache-2.0
// Which ports are the fabric, over the life of a node: ports and links go down and come up, addresses are
// lost and regained, and a boot brings them up in any order. The table is what an agent writes, with the
// history that it has.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "core/builders.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/node/port_history.h"

namespace nccl_env::node::fabric_states_test {
namespace {

using namespace nccl_env::tests;
using ::testing::IsSubsetOf;

using Names = std::vector<std::string>;

Names names(const std::vector<const Port*>& ports) {
  Names hcas;
  for (const Port* port : ports) hcas.push_back(port->hca);
  return hcas;
}

struct Node {
  NodeFabric healthy;
  bool boards = true;
  Names own;  // HCAs that carry the node's own traffic, where another kind or number of ports is the fabric
};

// Nodes of rails beside management and storage NICs, of the same board or others, with and without board ids.
class Nodes {
 public:
  explicit Nodes(unsigned seed) : random_(seed) {}

  Node make() {
    Node node;
    node.healthy.name = "node-a";
    node.healthy.boot_id = "boot-0";
    node.healthy.interfaces.emplace();
    const bool infiniband = one_of({0, 1, 2}) == 0;
    const double rate = one_of({100, 200, 400});
    const int rails = one_of({1, 2, 4, 8});
    node.boards = one_of({0, 1, 2, 3}) > 0;
    for (int i = 0; i < rails; ++i) add(node, infiniband, rate, "MT_FABRIC");
    if (one_of({0, 1})) {
      const bool alike = !infiniband && rails > 1 && one_of({0, 1});
      const int count = alike ? 1 : one_of({1, 2});
      for (int i = 0; i < count; ++i) {
        add(node, false, alike ? rate : 25, alike ? "MT_FABRIC" : "MT_MANAGEMENT");
        node.own.push_back(node.healthy.ports.back().hca);
        node.healthy.interfaces->back().master = "bond0";
      }
      node.healthy.interfaces->push_back(interface("bond0", "10.200.0.1", 16));
      node.healthy.node_interface = "bond0";
    } else {
      node.healthy.node_interface = "eno1";
    }
    for (int i = one_of({0, 0, 1, 2, 4}); i > 0; --i) add(node, false, one_of({25, 100}), "MT_STORAGE");
    std::shuffle(node.healthy.ports.begin(), node.healthy.ports.end(), random_);
    return node;
  }

  int one_of(std::vector<int> values) { return values[random_() % values.size()]; }

 private:
  void add(Node& node, bool infiniband, double rate, const std::string& board) {
    const std::string number = std::to_string(node.healthy.ports.size());
    const std::string address = "10." + number + ".0.3";
    Port port = infiniband ? ib_port("mlx5_" + number) : roce_port("mlx5_" + number, "eth" + number, address);
    port.netdev = (infiniband ? "ib" : "eth") + number;
    port.rate_gbps = rate;
    port.board_id.reset();
    if (node.boards) port.board_id = board;
    port.pci_address = "0000:" + std::to_string(10 + node.healthy.ports.size() / 2) + ":00." +
                       std::to_string(node.healthy.ports.size() % 2);
    node.healthy.ports.push_back(port);
    node.healthy.interfaces->push_back(interface(*port.netdev, address, 24));
  }

  std::mt19937 random_;
};

// One node over time. `look` gives the table that the agent would publish at that moment.
class Life {
 public:
  Life(const NodeFabric& healthy, Nodes& dice)
      : healthy_(healthy), dice_(dice), down_(healthy.ports.size()), bare_(healthy.ports.size()) {}

  void step() {
    time_ += std::chrono::minutes(dice_.one_of({1, 2, 30, 120}));
    for (std::size_t i = 0; i < down_.size(); ++i) {
      if (dice_.one_of({0, 1, 2, 3}) == 0) down_[i] = !down_[i];
      if (dice_.one_of({0, 1, 2, 3}) == 0) bare_[i] = !bare_[i];
    }
    if (dice_.one_of({0, 1, 2, 3}) == 0) down_.assign(down_.size(), true);
    own_address_ = dice_.one_of({0, 1, 2, 3}) != 0;
    const int event = dice_.one_of({0, 1, 2, 3, 4, 5, 6, 7});
    if (event == 0) boot();
    if (event == 1) restart_agent();
  }
  void heal() {
    time_ += std::chrono::hours(1);
    down_.assign(down_.size(), false);
    bare_.assign(bare_.size(), false);
    own_address_ = true;
  }

  const NodeFabric& look() {
    table_ = healthy_;
    table_.boot_id = boot_id_;
    for (std::size_t i = 0; i < table_.ports.size(); ++i) {
      Port& port = table_.ports[i];
      if (down_[i]) {
        port.state = PortState::Down;
        port.rate_gbps = 40;  // what mlx5 falls back to on Ethernet
      }
      if (bare_[i] && port.link_layer == LinkLayer::Ethernet) port.gids->resize(2);
    }
    if (!own_address_ && seen_own_) table_.node_interface.reset();
    seen_own_ = seen_own_ || table_.node_interface;
    history_.note(table_, time_);
    return table_;
  }
  [[nodiscard]] Timestamp time() const { return time_; }

 private:
  void boot() {
    boot_id_ = "boot-" + std::to_string(++boots_);
    history_ = PortHistory();
    seen_own_ = false;  // before the node has its address there is no API server for it, and no look
    down_.assign(down_.size(), true);
    bare_.assign(bare_.size(), true);
  }
  void restart_agent() {
    history_ = PortHistory();
    history_.resume(table_, boot_id_);
  }

  const NodeFabric& healthy_;
  Nodes& dice_;
  std::vector<bool> down_;
  std::vector<bool> bare_;  // without addresses
  bool own_address_ = true;
  bool seen_own_ = false;
  PortHistory history_;
  NodeFabric table_;
  std::string boot_id_ = "boot-0";
  int boots_ = 0;
  Timestamp time_ = kNow;
};

TEST(FabricStates, NoStateOfANodeBringsAPortIntoItsFabric) {
  Nodes nodes(20261122);
  int told = 0;
  int partly = 0;
  int down = 0;
  for (int i = 0; i < 300; ++i) {
    const Node node = nodes.make();
    const Names fabric = names(choose_ports(node.healthy, {}, Exposure::Host, kNow).fabric);
    if (fabric.empty()) continue;  // ambiguous when all is well
    ++told;
    for (const std::string& own : node.own)
      ASSERT_EQ(std::count(fabric.begin(), fabric.end(), own), 0) << "node " << i;
    Life life(node.healthy, nodes);
    life.look();
    for (int step = 0; step < 12; ++step) {
      life.step();
      const NodeFabric& table = life.look();
      for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
        const PortChoice choice = choose_ports(table, {}, exposure, life.time());
        ASSERT_THAT(names(choice.ports), IsSubsetOf(fabric)) << "node " << i << " step " << step;
        // Without boards nothing tells ports apart of which none has been up.
        if (!choice.fabric.empty() && node.boards) {
          ASSERT_EQ(names(choice.fabric), fabric) << "node " << i << " step " << step;
        }
        partly += !choice.ports.empty() && choice.ports.size() < fabric.size() ? 1 : 0;
        down += choice.reason == Reason::NoFabricPort ? 1 : 0;
      }
    }
    life.heal();
    EXPECT_EQ(names(choose_ports(life.look(), {}, Exposure::Host, life.time()).ports), fabric)
        << "node " << i;
  }
  EXPECT_GT(told, 100);
  EXPECT_GT(partly, 500);
  EXPECT_GT(down, 500);
}

}  // namespace
}  // namespace nccl_env::node::fabric_states_test
