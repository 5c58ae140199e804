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
