// SPDX-License-Identifier: Apache-2.0
// rdma link, ibdev2netdev, ibstat and ibstatus: formats without GID rows.
#include "listing/import_fixture.h"

namespace nccl_env::short_formats_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
    EXPECT_THAT(problems_of(import_text(line + "\n")), ElementsAre(HasSubstr("a.txt:1: expected "))) << line;
  }
  EXPECT_THAT(problems_of(import_text("link https://example.org/a\nlink mlx5_0/1 state ACTIVE\n")),
              IsEmpty());
}

TEST(Ibdev2netdev, GivesTheNetdevAndNoState) {
  const Port port = port_of("mlx5_0 port 1 ==> eth1 (Down)\n");
  EXPECT_EQ(port.netdev, "eth1");
  EXPECT_EQ(port.state, std::nullopt);
  EXPECT_EQ(port.link_layer, std::nullopt);
  EXPECT_EQ(table_of("mlx4_0 port 2 <===> ib0 (Up)\n").interfaces, std::nullopt);
}

TEST(Ibdev2netdev, RefusesLinesThatDoNotParse) {
  for (const std::string line :
       {"mlx5_0 port 1 ==> eth1", "mlx5_0 port 1 ==> (Up)", "mlx5_0 port x ==> eth1 (Up)",
        "mlx5_0 port 1 ==> eth1 (Maybe)", "mlx5_0 port 1 -> eth1 (Up)", "mlx5/0 port 1 ==> eth1 (Up)",
        "mlx5_0 port 1 ==> eth1 (Up) (Up)",
        "0000:12:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) fw 28.40 port 1 (ACTIVE) ==> eth1 (Up)"}) {
    EXPECT_THAT(problems_of(import_text(line + "\n")), ElementsAre(HasSubstr("a.txt:1: expected "))) << line;
  }
}

const std::string kIbstat =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.40.1000\n"
    "\tNode GUID: 0xb83fd20300b4f5a2\n\tSystem image GUID: 0xb83fd20300b4f5a2\n"
    "\tPort 1:\n\t\tState: Initializing\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 12\n"
    "\t\tLink layer: InfiniBand\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos);
  return text.replace(at, from.size(), to);
}

TEST(Ibstat, ReadsThePort) {
  const Port port = port_of(kIbstat);
  EXPECT_EQ(port.hca, "mlx5_0");
  EXPECT_EQ(port.state, PortState::Init);
  EXPECT_EQ(port.rate_gbps, 400);
  EXPECT_EQ(port.link_layer, LinkLayer::InfiniBand);
  EXPECT_EQ(port.sys_image_guid, "b83f:d203:00b4:f5a2");
  EXPECT_EQ(port.board_id, std::nullopt);
}

TEST(Ibstat, ASpeedThatKernelsPrintForUnknownOnesIsNotLearnt) {
  EXPECT_EQ(port_of(replaced(kIbstat, "Rate: 400", "Rate: 10")).rate_gbps, std::nullopt);
  EXPECT_EQ(port_of(replaced(kIbstat, "Rate: 400", "Rate: 40 (FDR10)")).rate_gbps, 40);
}

TEST(Ibstat, ReadsTheFormOfOnePort) {
  const std::string one = "CA: 'mlx5_0'\nPort 2:\nState: Active\nRate: 100\nLink layer: Ethernet\n";
  EXPECT_EQ(port_of(one).number, 2);
}

TEST(Ibstat, ABlockCutAnywhereIsRefused) {
  std::vector<std::size_t> accepted;
  for (std::size_t end = kIbstat.find('\n') + 1; end < kIbstat.size(); end = kIbstat.find('\n', end) + 1) {
    if (import_text(kIbstat.substr(0, end)).report) accepted.push_back(end);
  }
  EXPECT_THAT(accepted, IsEmpty());
  EXPECT_THAT(problems_of(import_text(kIbstat.substr(kIbstat.find("\tPort 1")))), Not(IsEmpty()));
}

TEST(Ibstat, RefusesOtherValuesWithTheirLine) {
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "ports: 1", "ports: 2"))),
              ElementsAre(HasSubstr("1 of the 2 ports")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Initializing", "Up"))),
              ElementsAre(HasSubstr("a.txt:8: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Rate: 400", "Rate: fast"))),
              ElementsAre(HasSubstr("a.txt:10: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Port 1:", "Port x:"))),
              ElementsAre(HasSubstr("a.txt:7: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "CA 'mlx5_0'", "CA 'mlx5 0'"))),
              ElementsAre(HasSubstr("a.txt:1: ")));
}

const std::string kIbstatus =
    "Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:b83f:d203:00b4:f5a2\n"
    "\tbase lid:\t 0x4cb\n\tsm lid:\t\t 0x1\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
    "\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n";

// Found by fuzzing: the name of a refused device went to the terminal as it was.
TEST(Ibstat, AProblemQuotesARefusedNameInPrintableAsciiOnly) {
  EXPECT_THAT(problems_of(import_text("CA 'x\x1b[2J'\n  Port 1:\n  Port 1:\n")),
              ElementsAre("a.txt:1: expected CA 'DEVICE', not \"CA 'x?[2J'\"",
                          "a.txt:3: port 1 of x?[2J stands twice in the block, first at a.txt:2"));
}

TEST(Ibstatus, ReadsThePortAndNotItsDefaultGid) {
  const Port port = port_of(kIbstatus);
  EXPECT_EQ(port.hca, "mlx5_0");
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.rate_gbps, 400);
  EXPECT_EQ(port.link_layer, LinkLayer::InfiniBand);
  EXPECT_EQ(port.gids, std::nullopt);
}

TEST(Ibstatus, ASpeedThatKernelsPrintForUnknownOnesIsNotLearnt) {
  EXPECT_EQ(port_of(replaced(kIbstatus, "400 Gb/sec (4X NDR)", "10 Gb/sec (4X SDR)")).rate_gbps,
            std::nullopt);
}

TEST(Ibstatus, ABlockCutAnywhereIsRefused) {
  std::vector<std::size_t> accepted;
  for (std::size_t end = kIbstatus.find('\n') + 1; end < kIbstatus.size();
       end = kIbstatus.find('\n', end) + 1) {
    if (import_text(kIbstatus.substr(0, end)).report) accepted.push_back(end);
  }
  EXPECT_THAT(accepted, IsEmpty());
  EXPECT_THAT(problems_of(import_text(kIbstatus.substr(kIbstatus.find("\tdefault")))), Not(IsEmpty()));
}

TEST(Ibstatus, RefusesOtherValuesWithTheirLine) {
  EXPECT_THAT(problems_of(import_text(replaced(kIbstatus, "4: ACTIVE", "1: ACTIVE"))),
              ElementsAre(HasSubstr("a.txt:5: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstatus, "fe80:0000", "fe80-0000"))),
              ElementsAre(HasSubstr("a.txt:2: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstatus, "400 Gb/sec", "fast"))),
              ElementsAre(HasSubstr("a.txt:7: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstatus, "port 1", "port"))),
              ElementsAre(HasSubstr("a.txt:1: ")));
}

TEST(Ibstatus, EveryPortIsABlock) {
  EXPECT_THAT(table_of(kIbstatus + replaced(kIbstatus, "port 1", "port 2")).ports, SizeIs(2));
  EXPECT_THAT(problems_of(import_text(kIbstatus + replaced(kIbstatus, "4: ACTIVE", "1: DOWN"))),
              ElementsAre("a.txt:13: the state of mlx5_0 port 1 is Down here, but Active at a.txt:5"));
}

}  // namespace
}  // namespace nccl_env::short_formats_test
