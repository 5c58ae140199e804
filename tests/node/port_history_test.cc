// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/port_history.h"

#include <gtest/gtest.h>

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

TEST(PortHistory, ARestartOfTheAgentLosesNothing) {
  NodeFabric earlier = table(PortState::Down);
  earlier.ports[0].state_since = kStart;
  PortHistory history;
  history.resume(earlier, "b");
  EXPECT_EQ(noted(history, PortState::Down, 600), kStart);
  PortHistory changed;
  changed.resume(earlier, "b");
  EXPECT_EQ(noted(changed, PortState::Active, 600), kStart + std::chrono::seconds(600));
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

TEST(PortHistory, WhatWasBeforeTheLastBootDoesNotCount) {
  NodeFabric earlier = table(PortState::Down);
  earlier.ports[0].state_since = kStart;
  for (const std::optional<std::string>& boot :
       {std::optional<std::string>("other"), std::optional<std::string>()}) {
    PortHistory history;
    history.resume(earlier, boot);
    EXPECT_EQ(noted(history, PortState::Down, 600), std::nullopt);
  }
}

}  // namespace
}  // namespace nccl_env::node::port_history_test
