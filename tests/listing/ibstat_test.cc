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
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Rate: 400", "Rate: fast"))),
              ElementsAre(HasSubstr("a.txt:10: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "Port 1:", "Port x:"))),
              ElementsAre(HasSubstr("a.txt:7: ")));
  EXPECT_THAT(problems_of(import_text(replaced(kIbstat, "CA 'mlx5_0'", "CA 'mlx5 0'"))),
              ElementsAre(HasSubstr("a.txt:1: ")));
}

// Found by fuzzing: the name of a refused device went to the terminal as it was.
TEST(Ibstat, AProblemQuotesARefusedNameInPrintableAsciiOnly) {
  EXPECT_THAT(problems_of(import_text("CA 'x\x1b[2J'\n  Port 1:\n  Port 1:\n")),
              ElementsAre("a.txt:1: expected CA 'DEVICE', not \"CA 'x?[2J'\"",
                          "a.txt:3: port 1 of x?[2J stands twice in the block, first at a.txt:2"));
}

}  // namespace
}  // namespace nccl_env::ibstat_test
