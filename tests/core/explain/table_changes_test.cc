// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/table_changes.h"

#include <gmock/gmock.h>

#include "core/builders.h"

namespace nccl_env::table_changes_test {
namespace {

using namespace nccl_env::tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> changes(const NodeFabric& then, const NodeFabric& now) {
  std::vector<std::string> texts;
  for (const Change& change : table_changes(then, now)) {
    std::string places;
    for (const std::string& place : change.places) places += (places.empty() ? "" : ",") + place;
    texts.push_back(places + " " + change.name + ": " + change.then.value_or("?") + " -> " +
                    change.now.value_or("?"));
  }
  return texts;
}

void set_state(NodeFabric& table, std::optional<PortState> state) {
  for (Port& port : table.ports) port.state = state;
}

TEST(TableChanges, TimesAndCountersAreNone) {
  const NodeFabric then = rails(2);
  NodeFabric now = then;
  now.time = kNow;
  now.ports[0].state_since = kNow;
  now.ports[0].gid_index_changes = 3;
  now.ports[0].gids->front().index_since = kNow;
  EXPECT_THAT(changes(then, now), IsEmpty());
}

TEST(TableChanges, AStateIsToldAndForgottenWhenItIsBack) {
  const NodeFabric up = rails(4);
  NodeFabric half = up, down = up, unknown = up;
  half.ports[0].state = half.ports[2].state = PortState::Down;
  set_state(down, PortState::Down);
  set_state(unknown, std::nullopt);
  EXPECT_THAT(changes(up, half), ElementsAre("mlx5_1,mlx5_3 state: Active -> Down"));
  EXPECT_THAT(changes(half, up), ElementsAre("mlx5_1,mlx5_3 state: Down -> Active"));
  EXPECT_THAT(changes(up, down), ElementsAre("mlx5_1,mlx5_2,mlx5_3,mlx5_4 state: Active -> Down"));
  EXPECT_THAT(changes(up, unknown), ElementsAre("mlx5_1,mlx5_2,mlx5_3,mlx5_4 state: Active -> ?"));
  NodeFabric back = up;
  back.ports[0].state_since = kNow;
  EXPECT_THAT(changes(up, back), IsEmpty());
  EXPECT_THAT(changes(unknown, unknown), IsEmpty());
}

TEST(TableChanges, FieldsThatDifferAreToldOnceForAllPorts) {
  const NodeFabric then = rails(2);
  NodeFabric now = then;
  for (Port& port : now.ports) port.rate_gbps = 40.0;
  now.ports[1].active_mtu = 1024;
  now.boot_id = "b";
  NodeFabric rebooted = now;
  rebooted.boot_id = "c";
  EXPECT_THAT(changes(then, now), ElementsAre("mlx5_2 activeMtu: ? -> 1024", "node bootId: ? -> b",
                                              "mlx5_1,mlx5_2 rateGbps: 200 -> 40"));
  EXPECT_THAT(changes(now, rebooted), ElementsAre("node bootId: one -> another"));
}

TEST(TableChanges, AnIndexThatMovedIsToldByTheWorkOfItsRow) {
  const NodeFabric then = rails(1);
  NodeFabric now = then;
  now.ports[0].gids->at(2).index = 4;
  now.ports[0].gids->at(3).index = 5;
  EXPECT_THAT(changes(then, now), ElementsAre("mlx5_1 GID index of RoCEv1 IPv4 eth1: 2 -> 4",
                                              "mlx5_1 GID index of RoCEv2 IPv4 eth1: 3 -> 5"));
  EXPECT_THAT(changes(now, then), ElementsAre("mlx5_1 GID index of RoCEv1 IPv4 eth1: 4 -> 2",
                                              "mlx5_1 GID index of RoCEv2 IPv4 eth1: 5 -> 3"));
}

TEST(TableChanges, AnotherAddressIsToldWithoutTheAddress) {
  const NodeFabric then = rails(1);
  NodeFabric now = then;
  now.ports[0].gids->at(3).gid = v4("25.11.9.9");
  EXPECT_THAT(changes(then, now), ElementsAre("mlx5_1 GID at index 3: one -> another"));
}

TEST(TableChanges, RowsThatComeOrAreNotKnownDiffer) {
  const NodeFabric then = rails(1);
  NodeFabric more = then, unknown = then, none = then;
  more.ports[0].gids->push_back(row(7, gid("2001:db8::1"), GidType::RoCEv2, "eth1"));
  unknown.ports[0].gids.reset();
  none.ports[0].gids->resize(2);
  EXPECT_THAT(changes(then, more), ElementsAre("mlx5_1 GID index of RoCEv2 IPv6 eth1: none -> 7"));
  EXPECT_THAT(changes(then, unknown), ElementsAre("mlx5_1 GID rows: known -> ?"));
  EXPECT_THAT(changes(then, none), ElementsAre("mlx5_1 GID index of RoCEv1 IPv4 eth1: 2 -> none",
                                               "mlx5_1 GID index of RoCEv2 IPv4 eth1: 3 -> none"));
}

TEST(TableChanges, PartitionKeysAreToldByIndex) {
  NodeFabric then = rails(1), now = then;
  EXPECT_THAT(changes(then, now), IsEmpty());
  then.ports[0].pkeys = std::vector<PartitionKey>{{0, 0xffff}};
  now.ports[0].pkeys = std::vector<PartitionKey>{{0, 0xffff}, {1, 0x8001}};
  EXPECT_THAT(changes(then, now), ElementsAre("mlx5_1 partition key at index 1: none -> 0x8001"));
}

TEST(TableChanges, PortsThatComeAndGoAreOneFactEach) {
  const NodeFabric then = rails(3);
  NodeFabric now = then;
  now.ports.pop_back();
  now.ports[1].number = 2;
  EXPECT_THAT(changes(then, now),
              ElementsAre("mlx5_2:2 port: not there -> there", "mlx5_2,mlx5_3 port: there -> not there"));
}

TEST(TableChanges, InterfacesThatAreNotKnownAreNotGone) {
  NodeFabric then = rails(1);
  then.interfaces =
      std::vector<Interface>{interface("eth0", "10.0.0.1", 24), interface("eth1", "25.11.1.2", 24)};
  NodeFabric unknown = then, now = then;
  unknown.interfaces.reset();
  EXPECT_THAT(changes(then, unknown), ElementsAre("node interfaces: known -> ?"));
  now.interfaces->pop_back();
  now.interfaces->front() = interface("eth0", "10.0.0.9", 24, false);
  EXPECT_THAT(changes(then, now),
              ElementsAre("eth0 addresses: one -> another", "eth1 interface: there -> not there",
                          "eth0 up: true -> false"));
}

}  // namespace
}  // namespace nccl_env::table_changes_test
