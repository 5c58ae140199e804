// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/port_history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/builders.h"

namespace nccl_env::node::port_history_test {
namespace {

const Timestamp kStart = *parse_timestamp("2026-11-20T08:00:00Z");

NodeFabric table(std::optional<PortState> state) {
  NodeFabric made;
  made.boot_id = "b";
  Port& port = made.ports.emplace_back();
  port.hca = "mlx5_0";
  port.state = state;
  return made;
}

std::optional<Timestamp> noted(PortHistory& history, std::optional<PortState> state, int second) {
  NodeFabric made = table(state);
  history.note(made, kStart + std::chrono::seconds(second));
  return made.ports[0].state_since;
}

TEST(PortHistory, AStateBeginsWhenItIsSeenToChange) {
  PortHistory history;
  EXPECT_EQ(noted(history, PortState::Active, 0), std::nullopt);
  EXPECT_EQ(noted(history, PortState::Active, 10), std::nullopt);
  EXPECT_EQ(noted(history, PortState::Down, 20), kStart + std::chrono::seconds(20));
  EXPECT_EQ(noted(history, PortState::Down, 30), kStart + std::chrono::seconds(20));
  EXPECT_EQ(noted(history, PortState::Active, 40), kStart + std::chrono::seconds(40));
}

TEST(PortHistory, AStateThatCouldNotBeReadChangesNothing) {
  PortHistory history;
  noted(history, PortState::Active, 0);
  noted(history, PortState::Down, 10);
  EXPECT_EQ(noted(history, std::nullopt, 20), std::nullopt);
  EXPECT_EQ(noted(history, PortState::Down, 30), kStart + std::chrono::seconds(10));
}

TEST(PortHistory, APortThatWasGoneBeginsAnew) {
  PortHistory history;
  noted(history, PortState::Active, 0);
  noted(history, PortState::Down, 10);
  NodeFabric empty;
  history.note(empty, kStart + std::chrono::seconds(20));
  EXPECT_EQ(noted(history, PortState::Down, 30), std::nullopt);
}

TEST(PortHistory, InExclusiveModeAPortThatAPodTookKeepsItsHardware) {
  PortHistory history;
  NodeFabric made;
  made.boot_id = "b";
  made.rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  made.ports = {tests::roce_port("mlx5_0", "eth0", "10.0.0.1"),
                tests::roce_port("mlx5_1", "eth1", "10.0.1.1"), tests::roce_port("rxe0", "eth2", "10.0.2.1")};
  made.ports[2].driver = "rxe";
  NodeFabric alone = made;
  alone.ports.clear();
  history.note(made, kStart);
  NodeFabric taken = alone;
  history.note(taken, kStart);
  ASSERT_EQ(taken.ports.size(), 2U) << "a soft device that is gone is nobody's";
  EXPECT_EQ(taken.ports[1].hca, "mlx5_1");
  EXPECT_EQ(taken.ports[1].unavailable, Unavailable::OtherNamespace);
  EXPECT_EQ(taken.ports[1].max_rate_gbps, 200);
  EXPECT_EQ(taken.ports[1].board_id, "MT_0000000223");
  EXPECT_EQ(taken.ports[1].gids, std::nullopt);
  NodeFabric back = alone;
  back.ports = {made.ports[1]};
  PortHistory restarted;
  restarted.resume(taken, "b");
  restarted.note(back, kStart);
  ASSERT_EQ(back.ports.size(), 2U);
  EXPECT_EQ(back.ports[0].unavailable, std::nullopt);
  EXPECT_EQ(back.ports[1].hca, "mlx5_0");
  NodeFabric rebooted = alone;
  PortHistory anew;
  anew.resume(taken, "other");
  anew.note(rebooted, kStart);
  EXPECT_TRUE(rebooted.ports.empty());
  NodeFabric shared = alone;
  shared.rdma_namespace_mode = RdmaNamespaceMode::Shared;
  history.note(shared, kStart);
  EXPECT_TRUE(shared.ports.empty()) << "there a device that is gone is gone";
}

TEST(PortHistory, ARestartOfTheAgentLosesNothing) {
  NodeFabric earlier = table(PortState::Down);
  earlier.ports[0].state_since = kStart;
  const auto resumed = [&](const std::optional<std::string>& boot, PortState state) {
    PortHistory history;
    history.resume(earlier, boot);
    return noted(history, state, 600);
  };
  EXPECT_EQ(resumed("b", PortState::Down), kStart);
  EXPECT_EQ(resumed("b", PortState::Active), kStart + std::chrono::seconds(600));
  EXPECT_EQ(resumed("other", PortState::Down), std::nullopt) << "what was before the last boot";
  EXPECT_EQ(resumed(std::nullopt, PortState::Down), std::nullopt);
}

std::optional<double> most(PortHistory& history, PortState state, std::optional<double> rate,
                           const std::string& board = "MT_1") {
  NodeFabric made = table(state);
  made.ports[0].rate_gbps = rate;
  made.ports[0].board_id = board;
  history.note(made, kStart);
  return made.ports[0].max_rate_gbps;
}

TEST(PortHistory, ThePortIsWorthTheHighestRateThatItHadWhileItWasUp) {
  PortHistory history;
  EXPECT_EQ(most(history, PortState::Down, 40), std::nullopt) << "a port that is down reports a fallback";
  EXPECT_EQ(most(history, PortState::Active, 200), 200);
  EXPECT_EQ(most(history, PortState::Active, 100), 200);
  EXPECT_EQ(most(history, PortState::Down, 10), 200);
  EXPECT_EQ(most(history, PortState::Active, {}), 200);
  EXPECT_EQ(most(history, PortState::Active, 400), 400);
  EXPECT_EQ(most(history, PortState::Down, 10, "MT_2"), std::nullopt) << "another card";
}

TEST(PortHistory, ARestartOfTheAgentKeepsTheHighestRateOfThisBoot) {
  NodeFabric earlier = table(PortState::Down);
  earlier.ports[0].rate_gbps = 40;
  earlier.ports[0].max_rate_gbps = 200;
  PortHistory history;
  history.resume(earlier, "b");
  EXPECT_EQ(most(history, PortState::Down, 40), 200);
  PortHistory of_another_boot;
  of_another_boot.resume(earlier, "c");
  EXPECT_EQ(most(of_another_boot, PortState::Down, 40), std::nullopt);
  earlier.ports[0].max_rate_gbps.reset();  // written by an agent that did not record it
  earlier.ports[0].state = PortState::Active;
  PortHistory updated;
  updated.resume(earlier, "b");
  EXPECT_EQ(most(updated, PortState::Down, 10), 40);
}

TEST(PortHistory, ANodeInterfaceThatLostItsAddressIsStillTheNodes) {
  NodeFabric seen = table(PortState::Active);
  seen.node_interface = "eth0";
  seen.interfaces.emplace();
  seen.interfaces->emplace_back().name = "eth0";
  PortHistory history;
  history.note(seen, kStart);
  NodeFabric lost = seen;
  lost.node_interface.reset();
  history.note(lost, kStart);
  EXPECT_EQ(lost.node_interface, "eth0");
  lost.node_interface = "bond0";
  history.note(lost, kStart);
  EXPECT_EQ(lost.node_interface, "bond0");
  lost.node_interface.reset();
  history.note(lost, kStart);
  EXPECT_EQ(lost.node_interface, std::nullopt) << "bond0 is not there";
}

using nccl_env::tests::row;
using nccl_env::tests::v4;

// The one address of a port, at this index; none: it is gone.
struct Rows {
  std::optional<std::string> since;
  std::optional<int> changes;
  bool operator==(const Rows&) const = default;
};
void PrintTo(const Rows& rows, std::ostream* out) {
  *out << rows.since.value_or("-") << " " << rows.changes.value_or(-1);
}

NodeFabric addressed(std::optional<int> index, const std::string& address = "10.0.0.1") {
  NodeFabric made = table(PortState::Active);
  made.ports[0].gids.emplace();
  if (!index) return made;
  made.ports[0].gids->push_back(row(*index - 1, v4(address), GidType::RoCEv1, "eth1"));
  made.ports[0].gids->push_back(row(*index, v4(address), GidType::RoCEv2, "eth1"));
  return made;
}

Rows look(PortHistory& history, NodeFabric seen, int second) {
  history.note(seen, kStart + std::chrono::seconds(second));
  const Port& port = seen.ports[0];
  Rows rows{{}, port.gid_index_changes};
  if (!port.gids || port.gids->empty()) return rows;
  EXPECT_FALSE(port.gids->front().index_since) << "v1 is nobody's index";
  if (const auto since = port.gids->back().index_since)
    rows.since = std::to_string((*since - kStart).count());
  return rows;
}

TEST(PortHistory, AnIndexBeginsWhenItsAddressIsSeenToMove) {
  PortHistory history;
  EXPECT_EQ(look(history, addressed({}), 0), (Rows{{}, {}})) << "before it has an address";
  EXPECT_EQ(look(history, addressed(3), 10), (Rows{{}, 0})) << "a new address has not moved";
  EXPECT_EQ(look(history, addressed(3), 20), (Rows{{}, 0}));
  EXPECT_EQ(look(history, addressed(5), 30), (Rows{"30", 1}));
  EXPECT_EQ(look(history, addressed(5), 40), (Rows{"30", 1}));
  EXPECT_EQ(look(history, addressed(3), 50), (Rows{"50", 2}));
}

TEST(PortHistory, AnAddressThatWasGoneHasMovedIfItComesBackElsewhere) {
  PortHistory history;
  look(history, addressed(3), 0);
  EXPECT_EQ(look(history, addressed({}), 10), (Rows{{}, 1}));
  EXPECT_EQ(look(history, addressed({}), 20), (Rows{{}, 1}));
  EXPECT_EQ(look(history, addressed(3), 30), (Rows{{}, 1})) << "down for a minute";
  look(history, addressed({}), 40);
  EXPECT_EQ(look(history, addressed(5), 50), (Rows{"50", 2}));
}

TEST(PortHistory, AnotherAddressAndRowsThatCouldNotBeReadHaveNotMoved) {
  PortHistory history;
  look(history, addressed(3), 0);
  NodeFabric unread = addressed(3);
  unread.ports[0].gids.reset();
  EXPECT_EQ(look(history, unread, 10), (Rows{{}, {}}));
  EXPECT_EQ(look(history, addressed(3), 20), (Rows{{}, 0}));
  EXPECT_EQ(look(history, addressed(5, "10.0.0.2"), 30), (Rows{{}, 1})) << "the first is gone";
}

TEST(PortHistory, ARestartOfTheAgentKeepsWhatItsTableSays) {
  PortHistory first;
  look(first, addressed(3), 0);
  NodeFabric written = addressed(5);
  first.note(written, kStart + std::chrono::seconds(10));
  PortHistory same;
  same.resume(written, "b");
  EXPECT_EQ(look(same, addressed(5), 600), (Rows{"10", 1}));
  PortHistory meanwhile;
  meanwhile.resume(written, "b");
  EXPECT_EQ(look(meanwhile, addressed(7), 600), (Rows{"600", 2}));
  PortHistory of_another_boot;
  of_another_boot.resume(written, "c");
  EXPECT_EQ(look(of_another_boot, addressed(7), 600), (Rows{{}, 0}));
}

// Notes what is seen and returns the table as a restarted agent reads it.
NodeFabric written(PortHistory& history, NodeFabric seen, int second) {
  seen.name = "node-a";
  history.note(seen, kStart + std::chrono::seconds(second));
  return *parse_node_fabric(nlohmann::json::parse(to_json(seen).dump()));
}

TEST(PortHistory, AnAddressThatWasAwayAtARestartHasMovedIfItComesBackElsewhere) {
  PortHistory first;
  look(first, addressed(3), 0);
  NodeFabric unread = addressed(3);
  unread.ports[0].gids.reset();
  for (const auto& [table, seen] :
       {std::pair(written(first, addressed({}), 10), 1), std::pair(written(first, unread, 20), 0)}) {
    PortHistory elsewhere;
    elsewhere.resume(table, "b");
    EXPECT_EQ(look(elsewhere, addressed(5), 600), (Rows{"600", seen}));
    PortHistory same;
    same.resume(table, "b");
    EXPECT_EQ(look(same, addressed({}), 600), (Rows{{}, seen})) << "still away";
    EXPECT_EQ(look(same, addressed(3), 610), (Rows{{}, seen})) << "away for a roll-out";
    PortHistory of_another_boot;
    of_another_boot.resume(table, "c");
    EXPECT_EQ(look(of_another_boot, addressed(5), 600), (Rows{{}, 0}));
  }
  EXPECT_FALSE(written(first, addressed(3), 30).ports[0].gids_gone) << "it is back";
}

TEST(PortHistory, InExclusiveModeAnAddressThatAPodTookMovesOverARestart) {
  PortHistory first;
  NodeFabric whole = addressed(3);
  whole.rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  written(first, whole, 0);
  NodeFabric taken = whole;
  taken.ports.clear();
  PortHistory restarted;
  restarted.resume(written(first, taken, 10), "b");
  EXPECT_EQ(look(restarted, addressed(5), 600).since, "600");
}

TEST(PortHistory, ATableHoldsAFewRowsOfAddressesThatAreGone) {
  PortHistory history;
  NodeFabric many = addressed({});
  for (int i = 0; i < 40; ++i)
    many.ports[0].gids->push_back(row(2 * i + 1, v4("10.0.2." + std::to_string(i)), GidType::RoCEv2, "eth1"));
  written(history, many, 0);
  many.ports[0].gids.reset();
  EXPECT_EQ(written(history, many, 10).ports[0].gids_gone->size(), kMostRowsGone);
}

TEST(PortHistory, AddressesThatComeAndGoForeverAreForgotten) {
  PortHistory history;
  for (int i = 0; i < 200; ++i) {
    NodeFabric seen = addressed(3, "10.0.1." + std::to_string(i));
    const Rows rows = look(history, seen, i);
    EXPECT_EQ(rows, (Rows{{}, i}));
  }
  EXPECT_EQ(look(history, addressed(5, "10.0.1.0"), 300), (Rows{{}, 200})) << "forgotten";
  EXPECT_EQ(look(history, addressed(5, "10.0.1.190"), 310), (Rows{"310", 201})) << "of the newest 16";
  EXPECT_EQ(look(history, addressed(5, "10.0.1.199"), 301).since, "301") << "known";
}

}  // namespace
}  // namespace nccl_env::node::port_history_test
