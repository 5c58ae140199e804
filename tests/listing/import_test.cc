// SPDX-License-Identifier: Apache-2.0
// What all listings share: options and bounds.
#include "listing/import_fixture.h"

namespace nccl_env::import_test {
namespace {

using namespace nccl_env::tests;

const std::string kGids =
    "DEV PORT INDEX GID IPv4 VER DEV\nmlx5_1 1 1 fe80::1 v1 eth1\nmlx5_1 1 3 ::ffff:10.0.0.1 10.0.0.1 v2 "
    "eth1\nn_gids_found=2\n";
const std::string kLink = "link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev eth1\n";
const std::string kDevinfo =
    "hca_id: mlx5_1\n transport: InfiniBand (0)\n board_id: MT_1\n phys_port_cnt: 1\n port: 1\n state: "
    "PORT_ACTIVE (4)\n"
    " link_layer: Ethernet\n";

TEST(Import, AFileHoldsTheListingOfOneTool) {
  const std::string prompt = "[root@gpu01 ~]# next\nSome words in between: see above.\n\n";
  EXPECT_THAT(
      problems_in(kGids + prompt + kDevinfo),
      ElementsAre("a.txt:8: another tool's listing: a file holds that of one. It begins with \"hca_id: "
                  "mlx5_1\""));
  EXPECT_THAT(problems_in(kDevinfo + kGids), SizeIs(1));
}

TEST(Import, APortThatStandsTwiceIsAProblem) {
  EXPECT_THAT(problems_in(kDevinfo + kDevinfo),
              ElementsAre("a.txt:12: mlx5_1 port 1 stands twice, first in line 5"));
  EXPECT_THAT(problems_in(kLink + kLink),
              ElementsAre("a.txt:2: mlx5_1 port 1 stands twice, first in line 1"));
}

TEST(Import, TheTableHasTheOptionsAndNoTime) {
  const auto outcome = import_listing({"a", kGids}, {.node = "gpu-node-1", .node_interface = "bond0"});
  ASSERT_TRUE(outcome.report);
  EXPECT_EQ(outcome.report->table.name, "gpu-node-1");
  EXPECT_EQ(outcome.report->table.node_interface, "bond0");
  EXPECT_EQ(outcome.report->table.time, std::nullopt);
  EXPECT_EQ(outcome.report->table.interfaces, std::nullopt);
}

TEST(Import, EveryProblemIsListedAndThereIsNoTable) {
  const auto outcome = import_text("hca_id: /\nhca_id: mlx5_1\n transport: x\n");
  EXPECT_FALSE(outcome.report);
  EXPECT_THAT(problems_of(outcome), ElementsAre(StartsWith("a.txt:1: "), StartsWith("a.txt:3: ")));
  EXPECT_THAT(
      problems_in("just words\n"),
      ElementsAre(
          "a.txt: expected a listing of show_gids, ibv_devinfo -v or rdma link with at least one port"));
}

TEST(Import, OptionsMustBeNames) {
  for (const std::string node : {"", "Node", "-a", "a-", "a..b", "a.-b", "a_b"}) {
    EXPECT_THAT(problems_of(import_listing({"a", kGids}, {.node = node, .node_interface = {}})),
                ElementsAre(StartsWith("expected a node name")))
        << node;
  }
  EXPECT_THAT(problems_of(import_listing({"a", kGids}, {.node = "n", .node_interface = "eth 0"})),
              ElementsAre(StartsWith("expected the name of a network")));
}

TEST(Import, RowsAreBoundedOverAllPorts) {
  std::string rows;
  for (int i = 0; i < 4096; ++i)
    rows += "mlx5_" + std::to_string(i / 1024) + " 1 " + std::to_string(i % 1024) + " fe80::1 v2 eth1\n";
  EXPECT_THAT(problems_in(rows), IsEmpty());
  EXPECT_THAT(problems_in(rows + "mlx5_9 1 0 fe80::1 v2 eth1\n"),
              ElementsAre("a.txt:4097: expected at most 4096 rows in all"));
}

TEST(Import, TextIsBounded) {
  EXPECT_THAT(problems_in(kGids + std::string(5U << 20U, '\n')),
              ElementsAre("a.txt: expected at most 4 MiB of text"));
  EXPECT_THAT(problems_in(kGids + std::string(5000, 'x') + "\n"),
              ElementsAre("a.txt:5: expected a line of at most 4096 bytes"));
  EXPECT_THAT(problems_in(kGids + std::string(1, '\0')), ElementsAre(HasSubstr("NUL")));
  std::string ports;
  for (int i = 0; i <= 256; ++i) ports += "link mlx5_" + std::to_string(i) + "/1 state ACTIVE\n";
  EXPECT_THAT(problems_in(ports), ElementsAre("a.txt:257: expected at most 256 ports"));
}

// 24 kB took 40 s and 1.2 GB: a repeated port was a problem for every earlier one.
TEST(Import, APortRepeatedInABlockIsToldOncePerLineAndInAHundredLines) {
  std::string text = "hca_id: mlx5_0\n";
  for (int i = 0; i < 3000; ++i) text += "port: 1\n";
  const ImportOutcome outcome = import_text(text);
  EXPECT_EQ(outcome.findings.size(), 99U);
  EXPECT_EQ(outcome.findings.size() + outcome.more, 2999U);
  EXPECT_EQ(problems_of(outcome)[1], "a.txt:4: port 1 of mlx5_0 stands twice in the block, first in line 2");
}

TEST(Import, MessagesArePrintable) {
  EXPECT_THAT(problems_in("hca_id: \x1b[2J\n"), ElementsAre(HasSubstr("\"?[2J\"")));
}

// What follows may be a part of the node's devices.
TEST(Import, AToolThatCouldNotReadAllIsRefused) {
  for (const std::string line :
       {"No IB devices found", "Failed to get IB devices list: Function not implemented",
        "Failed to open device",
        "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for "
        "device "
        "/sys/class/infiniband/bnxt_re0"})
    EXPECT_THAT(
        problems_in(line + "\n" + kDevinfo),
        ElementsAre(StartsWith("a.txt:1: the tool could not read what is there: \"" + line.substr(0, 19))));
  EXPECT_THAT(problems_in(kLink + "No devices were found by me\n"), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::import_test
