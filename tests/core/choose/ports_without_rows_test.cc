// SPDX-License-Identifier: Apache-2.0
// Chooses among ports of which some have no usable row: the hardware tells which ports are the fabric, the
// rows which of them serve.
#include <algorithm>
#include <random>

#include "core/choose/node.h"
#include "support/matchers.h"

namespace nccl_env::tests::ports_without_rows_test {
namespace {

using ::testing::IsSubsetOf;

// mlx5_1 to mlx5_8, of which none has an address yet, beside mlx5_0 on the node interface, of their kind or
// of the board.
Node fabric_without_addresses(const std::string& board = "") {
  return Node(8).each(lose_row).management(board, board.empty() ? 200 : 25).on("eth0");
}
const char* const kManagement = "MT_0000000359";

TEST(PortsWithoutRows, TheManagementNicIsNotTheFabricBecauseTheFabricHasNoAddresses) {
  const NodeFabric table = fabric_without_addresses(kManagement);
  const PortChoice choice = choose(table);
  EXPECT_EQ(choice.reason, Reason::NoFabricPort);
  EXPECT_THAT(choice.ports, IsEmpty());
  EXPECT_EQ(choice.detail,
            "node-a: no port of the fabric has a usable RoCE v2 row, only link-local ones "
            "(mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8).");
  EXPECT_EQ(choice.verdicts[0].why,
            "outweighed by 8 x Ethernet mlx5_core MT_0000000223 "
            "(mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7, mlx5_8)");
  EXPECT_EQ(choice.verdicts[1].why, "it has no usable RoCE v2 row");
  EXPECT_EQ(choice.fabric.size(), 8u);
  NodeFabric alike = fabric_without_addresses();
  EXPECT_EQ(list(alike), "NoFabricPort");
  EXPECT_EQ(choose(alike).fabric.size(), 8u);
  alike.node_interface.reset();
  EXPECT_EQ(list(alike), kAmbiguous) << "which one is left is not known";
  EXPECT_THAT(choose(alike).detail, HasSubstr("without a usable RoCE v2 row: mlx5_1, mlx5_2,"));
  EXPECT_FALSE(choose(alike).verdicts[1].fabric);
}

TEST(PortsWithoutRows, APortWithoutAnyGidIsUsableToNobodyHere) {
  NodeFabric table = rails(2);
  table.ports[0].transport.reset();
  table.ports[0].gids.emplace();
  table.ports[1].gids.reset();
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
    EXPECT_EQ(list(table, {}, exposure), "=mlx5_2");
    EXPECT_EQ(choose(table, {}, exposure).verdicts[0].why,
              "it has no GID in this network namespace: its netdev is in another one");
  }
  table.ports[0].netdev = "eth1";
  EXPECT_EQ(choose(table).verdicts[0].why,
            "it has no GID, although its netdev is here, as in switchdev mode");
  table.ports[1].gids.emplace();
  EXPECT_EQ(choose(table).detail,
            "node-a: no port of the fabric has a GID in this network namespace (mlx5_1,mlx5_2).");
  for (Port& port : table.ports) port.transport = Transport::eRDMA;
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2");
}

TEST(PortsWithoutRows, StorageNicsAreNotTheFabricEither) {
  const NodeFabric table = Node(8).each(lose_row).storage({"mlx5_20", "mlx5_21"}).on("eno1");
  EXPECT_EQ(list(table), "NoFabricPort");
  EXPECT_EQ(list(table, {}, Exposure::SubInterface), kEightRails);
}

TEST(PortsWithoutRows, AFabricThatLosesSomeKeepsTheOthers) {
  NodeFabric table = fabric_without_addresses();
  const NodeFabric whole = rails(8);
  for (const std::size_t rail : {2u, 5u, 7u}) table.ports[rail].gids = whole.ports[rail - 1].gids;
  EXPECT_EQ(list(table), "=mlx5_2,mlx5_5,mlx5_7") << "mlx5_0 carries the node's own traffic";
  EXPECT_EQ(list(table, expecting(4)), "TooFewPorts");
  EXPECT_EQ(choose(table, expecting(4)).detail,
            "node-a: 3 fabric ports, the policy expects 4; without a usable RoCE v2 row: "
            "mlx5_1,mlx5_3,mlx5_4,mlx5_6,mlx5_8.");
}

TEST(PortsWithoutRows, ASparePortOfTheFabricsKindIsNoRail) {
  EXPECT_EQ(list(Node(9).each(lose_row, 8).management().on("eth0")), kEightRails);
}

TEST(PortsWithoutRows, OfTwoKindsThatWeighTheSameTheOneWithAddressesIsTheFabric) {
  Node table = Node(2).each(lose_row, 0, 0);
  table.ports[1].board_id = "MT_OTHER";
  EXPECT_EQ(list(table), "=mlx5_2");
  EXPECT_EQ(list(table.each(lose_row)), kAmbiguous);
}

TEST(PortsWithoutRows, WhatTwoKindsOutweighDoesNotWinBetweenThem) {
  Node table = Node(7).each(lose_row).each([](Port& port) { port.board_id = "MT_OTHER"; }, 4);
  EXPECT_EQ(list(table.management(kManagement, 25)), kAmbiguous);
}

TEST(PortsWithoutRows, PortsThatAPolicyNamesAreNotReplaced) {
  const NodeFabric table = fabric_without_addresses(kManagement);
  EXPECT_THAT(choose(table, hcas("mlx5_[12]")).detail,
              HasSubstr("v2 row, only link-local ones (mlx5_1,mlx5_2)."));
  EXPECT_EQ(list(table, hcas("mlx5_[01]")), "=mlx5_0");
  FabricRule rule;
  rule.exclude_hcas = {"mlx5_[1-8]"};
  EXPECT_EQ(list(table, rule), "=mlx5_0") << "what a policy keeps out outweighs nothing";
}

TEST(PortsWithoutRows, AVfCountsBesideAPfOnlyIfItAloneHasARow) {
  NodeFabric table = rails(2);
  table.ports[0].pci_address = "0000:53:00.0";
  table.ports[1].pci_address = "0000:53:00.2";
  table.ports[1].pf_pci_address = "0000:53:00.0";
  lose_row(table.ports[1]);
  EXPECT_EQ(list(table), "=mlx5_1");
  std::swap(table.ports[0].gids, table.ports[1].gids);
  EXPECT_EQ(list(table), "=mlx5_2");
  EXPECT_EQ(choose(table).fabric, std::vector<const Port*>{&table.ports[1]});
  lose_row(table.ports[1]);
  EXPECT_EQ(choose(table).fabric, std::vector<const Port*>{&table.ports[0]});
}

TEST(PortsWithoutRows, ManyIdleVfsDoNotOutweighTheirPfs) {
  NodeFabric table = rails(2);
  for (std::size_t pf = 0; pf < 2; ++pf) {
    table.ports[pf].pci_address = "0000:5" + std::to_string(pf) + ":00.0";
    for (int vf = 0; vf < 8; ++vf) {
      Port port = roce_port("mlx5_" + std::to_string(10 + 10 * pf) + std::to_string(vf), "v", "10.1.1.1");
      port.board_id = "MT_VF";
      port.pf_pci_address = table.ports[pf].pci_address;
      lose_row(port);
      table.ports.push_back(port);
    }
  }
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2");
}

// In a pod, the node's rails without a sub-interface of this pod are not its business.
TEST(PortsWithoutRows, InAPodsOwnTableOtherPortsCountForNothing) {
  NodeFabric table = fabric_without_addresses(kManagement);
  for (std::size_t i = 1; i < table.ports.size(); ++i) table.ports[i].gids->clear();
  EXPECT_EQ(list(table, {}, Exposure::PodOwned), "=mlx5_0");
  EXPECT_EQ(list(table, {}, Exposure::Host), "NoFabricPort");
}

TEST(PortsWithoutRows, ThePortOnTheNodeInterfaceIsFoundInAnyOrder) {
  NodeFabric table = Node(4).management().on("eth0");
  table.ports[1].gids.reset();  // its netdev is not known
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  std::reverse(table.ports.begin(), table.ports.end());
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
}

// Tables of up to three kinds of port, with rows or without, with and without a node interface.
class AnyTable {
 public:
  explicit AnyTable(unsigned seed) : random_(seed) {}

  NodeFabric make() {
    NodeFabric table;
    table.name = "node-a";
    const int kinds = one_of({1, 2, 3});
    for (int kind = 0; kind < kinds; ++kind) {
      const double rate = one_of({25, 100, 200, 400});
      for (int i = one_of({1, 2, 3, 4, 8, 9}); i > 0; --i) add_port(table, kind, rate);
    }
    std::shuffle(table.ports.begin(), table.ports.end(), random_);
    if (one_of({0, 1, 2}) > 0)
      table.node_interface = one_of({0, 1}) ? "eno1" : *table.ports.front().gids->front().netdev;
    return table;
  }

  // The same with some rows less.
  NodeFabric without_some(NodeFabric table) {
    const int share = one_of({1, 2, 10});
    for (Port& port : table.ports) {
      if (one_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) < share || one_of({0, 1})) lose_row(port);
    }
    return table;
  }

 private:
  int one_of(std::vector<int> values) { return values[random_() % values.size()]; }

  void add_port(NodeFabric& table, int kind, double rate) {
    const std::string number = std::to_string(table.ports.size());
    Port port = roce_port("mlx5_" + number, "eth" + number, "10." + number + ".0.3");
    port.rate_gbps = rate;
    if (one_of({0, 1, 2, 3})) port.board_id = "MT_" + std::to_string(kind);
    table.ports.push_back(port);
  }

  std::mt19937 random_;
};

std::vector<std::string> names(const std::vector<const Port*>& ports) {
  std::vector<std::string> hcas;
  for (const Port* port : ports) hcas.push_back(port->hca);
  return hcas;
}

TEST(PortsWithoutRows, LosingAddressesNeverBringsAPortIntoTheList) {
  AnyTable any(20261121);
  int kept = 0;
  int shrunk = 0;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const NodeFabric whole = any.make();
    const NodeFabric table = any.without_some(whole);
    const PortChoice before = choose(whole);
    const PortChoice after = choose(table);
    EXPECT_EQ(names(before.ports), names(choose(whole, {}, Exposure::SubInterface).ports));
    for (const Port* port : after.ports) EXPECT_EQ(port->gids->size(), 4u) << port->hca;
    EXPECT_THAT(names(after.ports), IsSubsetOf(names(after.fabric)));
    if (before.ports.empty()) continue;
    EXPECT_EQ(names(after.fabric), names(before.ports));
    ASSERT_THAT(names(after.ports), IsSubsetOf(names(before.ports))) << "table " << i;
    kept += after.ports.size() == before.ports.size() ? 1 : 0;
    shrunk += !after.ports.empty() && after.ports.size() < before.ports.size() ? 1 : 0;
    refused += after.ports.empty() ? 1 : 0;
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(shrunk, 200);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace nccl_env::tests::ports_without_rows_test
