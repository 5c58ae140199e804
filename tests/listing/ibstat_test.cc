// SPDX-License-Identifier: Apache-2.0
#include "listing/import_fixture.h"

namespace nccl_env::ibstat_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kIbstat =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.40.1000\n"
    "\tNode GUID: 0xb83fd20300b4f5a2\n\tSystem image GUID: 0xb83fd20300b4f5a2\n"
    "\tPort 1:\n\t\tState: Initializing\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 12\n"
    "\t\tLink layer: InfiniBand\n";

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
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Port 1:", "Port x:"))),
              ElementsAre(HasSubstr("a.txt:7: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "CA 'mlx5_0'", "CA 'mlx5 0'"))),
              ElementsAre(HasSubstr("a.txt:1: ")));
}

TEST(Ibstat, AnUnreadableRateIsUnknownWithANote) {
  const ImportOutcome outcome = import_text(replaced(kIbstat, "Rate: 400", "Rate: fast"));
  EXPECT_THAT(notes_of(outcome), ElementsAre("a.txt:10: expected a rate in Gb/s, not \"fast\""));
  EXPECT_EQ(outcome.report->table.ports[0].rate_gbps, std::nullopt);
}

TEST(Ibstat, ARemarkBehindAFieldIsLeftOutWithANote) {
  for (const std::string remark : {"# the VF", "// the VF", "<-- the VF", "\xe2\x86\x90 the VF"}) {
    const ImportOutcome outcome = import_text(replaced(kIbstat, "CA 'mlx5_0'", "CA 'mlx5_0'   " + remark));
    EXPECT_THAT(notes_of(outcome), ElementsAre(HasSubstr("a.txt:1: the remark \""))) << remark;
    EXPECT_EQ(outcome.report->table.ports.at(0).hca, "mlx5_0");
  }
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "State: Initializing", "State: # up"))),
              ElementsAre(HasSubstr("a.txt:8: expected State")));
}

// Two functions of one card, as a host or a pod lists them.
std::string functions(const std::string& port_guid_of_the_first) {
  const std::string card =
      replaced(replaced(kIbstat, "InfiniBand", "Ethernet"), "State: Initializing", "State: Active");
  const std::string first = replaced(
      replaced(card, "\t\tLink layer", "\t\tPort GUID: " + port_guid_of_the_first + "\n\t\tLink layer"),
      "MT4129", "MT4123");
  return first + replaced(replaced(card, "mlx5_0", "mlx5_5"), "MT4129", "MT4124");
}

TEST(Ibstat, APhysicalFunctionWithoutAGidIsKnownToHaveNone) {
  const NodeFabric table = table_of(functions("0x0000000000000000"));
  ASSERT_EQ(table.ports.size(), 2U);
  ASSERT_TRUE(table.ports[0].gids);
  EXPECT_THAT(*table.ports[0].gids, IsEmpty());
  EXPECT_EQ(table.ports[1].gids, std::nullopt);
}

TEST(Ibstat, AVirtualFunctionWithoutAnAddressIsLeftOutBesideItsPhysicalOne) {
  const std::string text = functions("0x0a3c2bfffe4d5e6f");
  const ImportOutcome outcome = import_text(text);
  EXPECT_THAT(notes_of(outcome), ElementsAre(HasSubstr("mlx5_5 port 1 is a virtual function of mlx5_0")));
  ASSERT_EQ(outcome.report->table.ports.size(), 1U);
  EXPECT_EQ(outcome.report->table.ports[0].hca, "mlx5_0");
  EXPECT_EQ(table_of(text + "mlx5_5 1 3 ::ffff:10.0.0.1 v2 eth5\n").ports.size(), 2U);
  EXPECT_EQ(table_of(replaced(text, "MT4124", "MT41682")).ports.size(), 2U);
}

// Found by fuzzing: the name of a refused device went to the terminal as it was.
TEST(Ibstat, AProblemQuotesARefusedNameInPrintableAsciiOnly) {
  EXPECT_THAT(problems_of(import_text("CA 'x\x1b[2J'\n  Port 1:\n  Port 1:\n")),
              ElementsAre("a.txt:1: expected CA 'DEVICE', not \"CA 'x?[2J'\"",
                          "a.txt:3: port 1 of x?[2J stands twice in the block, first at a.txt:2"));
}

}  // namespace
}  // namespace nccl_env::ibstat_test
