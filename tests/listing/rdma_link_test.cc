// SPDX-License-Identifier: Apache-2.0
#include "listing/import_fixture.h"

namespace nccl_env::rdma_link_test {
namespace {

using namespace nccl_env::tests;

TEST(RdmaLink, ANetdevMeansEthernet) {
  const Port port =
      port_of("$ rdma link\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens6np0 \n");
  EXPECT_EQ(port.hca, "mlx5_0");
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.netdev, "ens6np0");
  EXPECT_EQ(port.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(port.transport, std::nullopt);
  EXPECT_EQ(port.gids, std::nullopt);
}

TEST(RdmaLink, ALidMeansInfiniband) {
  const Port port = port_of(
      "link mlx5_1/2 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 49 lmc 0 state DOWN physical_state "
      "POLLING\n");
  EXPECT_EQ(port.number, 2);
  EXPECT_EQ(port.state, PortState::Down);
  EXPECT_EQ(port.link_layer, LinkLayer::InfiniBand);
  EXPECT_EQ(port.netdev, std::nullopt);
  EXPECT_EQ(port_of("link mlx5_1/1 lid 13 state ACTIVE physical_state LINK_UP netdev ib0\n").link_layer,
            LinkLayer::InfiniBand);
}

TEST(RdmaLink, ReadsTheFormOfOlderVersionsAndSkipsDetails) {
  EXPECT_EQ(
      port_of("1/1: mlx5_0/1: state INIT physical_state LINK_UP netdev eth0\n    caps: <CM, IP_BASED_GIDS>\n")
          .state,
      PortState::Init);
  EXPECT_EQ(port_of("link mlx5_0/1 state ARMED physical_state LINK_UP caps: <CM>\n").link_layer,
            std::nullopt);
}

TEST(RdmaLink, RefusesLinesThatDoNotParse) {
  for (const std::string line :
       {"link mlx5_0/1 physical_state LINK_UP netdev eth0", "link mlx5_0/1 state", "link mlx5_0/1 state NOP",
        "link mlx5_0/x state ACTIVE", "link mlx5_0/0 state ACTIVE", "link mlx5_0/1", "link /1 state ACTIVE",
        "link mlx5_0/1 state ACTIVE netdev eth/0", "1/1: mlx5_0/: state ACTIVE"}) {
    EXPECT_THAT(problems_in(line + "\n"), ElementsAre(HasSubstr("a.txt:1: expected "))) << line;
  }
  EXPECT_THAT(problems_in("link https://example.org/a\nlink mlx5_0/1 state ACTIVE\n"), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::rdma_link_test
