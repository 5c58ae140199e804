// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/builders.h"

namespace nccl_env::summary_test {
namespace {

using tests::kNow;

TEST(FabricSummary, WithoutAnAnswerAllActivePortsAreCounted) {
  NodeFabric table = tests::rails(3);  // no usual number of rails, and the node interface is not known
  table.ports[1].state = PortState::Down;
  table.ports.push_back(tests::ib_port("mlx5_9"));
  const FabricSummary summary = summarize(table, kNow);
  EXPECT_EQ(summary.hcas, "");
  EXPECT_EQ(summary.link_layer, std::nullopt);
  EXPECT_EQ(summary.active_ports, 3);
}

TEST(FabricSummary, OfAFabricThatIsDownTheManagementNicIsNotCounted) {
  NodeFabric table = tests::rails(4);
  for (Port& port : table.ports) port.state = PortState::Down;
  table.ports.push_back(tests::roce_port("mlx5_0", "eth0", "10.0.60.3"));
  table.node_interface = "eth0";
  const FabricSummary summary = summarize(table, kNow);
  EXPECT_EQ(summary.active_ports, 0);
  EXPECT_EQ(summary.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(summary.hcas, "");
}

TEST(FabricSummary, IsWrittenBesideTheTable) {
  NodeFabric empty;
  empty.name = "n";
  EXPECT_EQ(to_json(empty, summarize(empty, kNow))["observed"]["summary"].dump(), R"({"activePorts":0})");
  const NodeFabric table = tests::rails(2);
  const auto json = to_json(table, summarize(table, kNow));
  EXPECT_EQ(json["observed"]["summary"].dump(),
            R"({"activePorts":2,"linkLayer":"Ethernet","hcas":"=mlx5_1,mlx5_2"})");
  EXPECT_EQ(to_json(*parse_node_fabric(nlohmann::json::parse(json.dump()))), to_json(table));
}

}  // namespace
}  // namespace nccl_env::summary_test
