// SPDX-License-Identifier: Apache-2.0
#include "listing/import_fixture.h"

namespace nccl_env::ibstatus_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kIbstatus =
    "Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:b83f:d203:00b4:f5a2\n"
    "\tbase lid:\t 0x4cb\n\tsm lid:\t\t 0x1\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
    "\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n";

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
  EXPECT_THAT(problems_of(import_text(replaced(kIbstatus, "port 1", "port"))),
              ElementsAre(HasSubstr("a.txt:1: ")));
}

TEST(Ibstatus, AValueOnWhichNoListDependsIsUnknownWithANote) {
  EXPECT_THAT(notes_of(import_text(replaced(kIbstatus, "fe80:0000", "fe80-0000"))),
              ElementsAre(HasSubstr("a.txt:2: expected a GID")));
  const ImportOutcome outcome = import_text(replaced(kIbstatus, "400 Gb/sec", "fast"));
  EXPECT_THAT(notes_of(outcome), ElementsAre(HasSubstr("a.txt:7: expected a rate")));
  EXPECT_EQ(outcome.report->table.ports[0].rate_gbps, std::nullopt);
}

TEST(Ibstatus, ADefaultGidOfZerosOnEthernetTellsThatThereIsNone) {
  const std::string zero = replaced(kIbstatus, "fe80:0000:0000:0000:b83f:d203:00b4:f5a2",
                                    "0000:0000:0000:0000:0000:0000:0000:0000");
  EXPECT_EQ(port_of(zero).gids, std::nullopt);
  const Port port = port_of(replaced(zero, "InfiniBand", "Ethernet"));
  ASSERT_TRUE(port.gids);
  EXPECT_THAT(*port.gids, IsEmpty());
  // The rows of another listing count more.
  EXPECT_THAT(
      rows_of(port_of(replaced(zero, "InfiniBand", "Ethernet") + "mlx5_0 1 5 ::ffff:10.0.0.1 v2 net1\n")),
      SizeIs(1));
}

TEST(Ibstatus, AGidThatItCouldNotReadIsUnknownInItsOwnWord) {
  EXPECT_EQ(port_of(replaced(kIbstatus, "fe80:0000:0000:0000:b83f:d203:00b4:f5a2", "unknown")).state,
            PortState::Active);
}

TEST(Ibstatus, EveryPortIsABlock) {
  EXPECT_THAT(table_of(kIbstatus + replaced(kIbstatus, "port 1", "port 2")).ports, SizeIs(2));
  EXPECT_THAT(problems_of(import_text(kIbstatus + replaced(kIbstatus, "4: ACTIVE", "1: DOWN"))),
              ElementsAre("a.txt:13: the state of mlx5_0 port 1 is Down here, but Active at a.txt:5"));
}

}  // namespace
}  // namespace nccl_env::ibstatus_test
