// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/interface_history.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace nccl_env::node::interface_history_test {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;

const Timestamp kStart = *parse_timestamp("2026-11-20T08:00:00Z");

struct Look {
  std::string name;
  bool up = true;
  std::string master = {};
};

// A node whose port is on eth1.
NodeFabric table(const std::vector<Look>& looks) {
  NodeFabric made;
  made.ports.emplace_back().netdev = "eth1";
  made.node_interface = "eth0";
  made.interfaces.emplace();
  for (const Look& look : looks) made.interfaces->push_back({look.name, {}, 1500, look.up, look.master});
  return made;
}

// Names in their order, with ! behind those that are not up.
std::vector<std::string> noted(InterfaceHistory& history, const std::vector<Look>& looks, minutes after) {
  NodeFabric made = table(looks);
  history.note(made, kStart + after);
  std::vector<std::string> names;
  for (const Interface& each : *made.interfaces) names.push_back(each.name + (each.up == true ? "" : "!"));
  return names;
}

TEST(InterfaceHistory, TheFirstLookIsTaken) {
  InterfaceHistory history;
  EXPECT_THAT(noted(history, {{"eth0"}, {"eth1"}, {"cni0", false}}, minutes(0)),
              ElementsAre("eth0", "eth1", "cni0!"));
}

TEST(InterfaceHistory, ABridgeOfPodsIsTakenOverWhenItHasSettled) {
  InterfaceHistory history;
  noted(history, {{"eth0"}, {"eth1"}}, minutes(0));
  const std::vector<Look> with{{"eth0"}, {"cni0"}, {"eth1"}};
  EXPECT_THAT(noted(history, with, minutes(1)), ElementsAre("eth0", "eth1"));
  EXPECT_THAT(noted(history, with, minutes(10)), ElementsAre("eth0", "eth1"));
  EXPECT_THAT(noted(history, with, minutes(11)), ElementsAre("eth0", "cni0", "eth1"));
}

TEST(InterfaceHistory, OneThatComesAndGoesChangesNothing) {
  InterfaceHistory history;
  noted(history, {{"eth1"}, {"cni0"}}, minutes(0));
  for (int i = 0; i < 60; ++i)
    EXPECT_THAT(noted(history, {{"eth1"}, {"cni0", i % 5 == 0}}, minutes(i + 1)),
                ElementsAre("eth1", "cni0"));
}

TEST(InterfaceHistory, PortsMastersAndTheNodesInterfaceAreNeverHeldBack) {
  InterfaceHistory history;
  noted(history, {{"eth0"}, {"eth1"}, {"cni0"}}, minutes(0));
  EXPECT_THAT(noted(history, {{"eth0", false}, {"eth1", true, "bond0"}, {"bond0", false}}, minutes(1)),
              ElementsAre("eth0!", "eth1", "cni0", "bond0!"));
  EXPECT_THAT(noted(history, {{"eth1", false}}, minutes(2)), ElementsAre("eth1!", "cni0"));
}

TEST(InterfaceHistory, WhatCouldNotBeReadStaysUnknown) {
  InterfaceHistory history;
  noted(history, {{"eth1"}}, minutes(0));
  NodeFabric unread = table({});
  unread.interfaces.reset();
  history.note(unread, kStart + minutes(1));
  EXPECT_FALSE(unread.interfaces);
}

}  // namespace
}  // namespace nccl_env::node::interface_history_test
