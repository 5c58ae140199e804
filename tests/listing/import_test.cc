// SPDX-License-Identifier: Apache-2.0
// Several sections, several files, options and bounds.
#include "listing/import_fixture.h"

namespace nccl_env::import_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kGids =
    "DEV PORT INDEX GID IPv4 VER DEV\nmlx5_1 1 1 fe80::1 v1 eth1\nmlx5_1 1 3 ::ffff:10.0.0.1 10.0.0.1 v2 "
    "eth1\nn_gids_found=2\n";
const std::string kNetdev = "mlx5_1 port 1 ==> eth1 (Up)\n";
const std::string kDevinfo =
    "hca_id: mlx5_1\n transport: InfiniBand (0)\n board_id: MT_1\n phys_port_cnt: 1\n port: 1\n state: "
    "PORT_ACTIVE (4)\n"
    " link_layer: Ethernet\n";

void expect_all_facts(const Port& port) {
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.netdev, "eth1");
  EXPECT_EQ(port.board_id, "MT_1");
  EXPECT_EQ(port.transport, Transport::RoCE);
  EXPECT_THAT(rows_of(port), ElementsAre("1 fe80::1 RoCEv1 - eth1", "3 10.0.0.1 RoCEv2 10.0.0.1 eth1"));
}

TEST(Import, SectionsOfOneFileMergeInAnyOrder) {
  const std::string prompt = "[root@gpu01 ~]# next\nSome words in between: see above.\n\n";
  expect_all_facts(port_of(kGids + prompt + kNetdev + prompt + kDevinfo));
  expect_all_facts(port_of(kDevinfo + prompt + kGids + prompt + kNetdev));
  expect_all_facts(port_of(kNetdev + kDevinfo + kGids));
}

TEST(Import, FilesMerge) {
  const auto outcome = import_listings({{"a", kGids}, {"b", kNetdev}, {"c", kDevinfo}}, options_for());
  ASSERT_TRUE(outcome.report);
  ASSERT_THAT(outcome.report->table.ports, SizeIs(1));
  expect_all_facts(outcome.report->table.ports[0]);
}

TEST(Import, TheTableHasTheOptionsAndNoTime) {
  ImportOptions options = options_for();
  options.node_interface = "bond0";
  const auto outcome = import_listings({{"a", kGids}}, options);
  ASSERT_TRUE(outcome.report);
  EXPECT_EQ(outcome.report->table.name, "gpu-node-1");
  EXPECT_EQ(outcome.report->table.node_interface, "bond0");
  EXPECT_EQ(outcome.report->table.time, std::nullopt);
  EXPECT_EQ(outcome.report->table.interfaces, std::nullopt);
}

TEST(Import, AContradictionNamesBothPlaces) {
  const auto outcome = import_listings(
      {{"a", kDevinfo}, {"b", "\nlink mlx5_1/1 state DOWN physical_state DISABLED netdev eth1\n"}},
      options_for());
  EXPECT_FALSE(outcome.report);
  EXPECT_THAT(problems_of(outcome),
              ElementsAre("b:2: the state of mlx5_1 port 1 is Down here, but Active at a:6"));
  EXPECT_THAT(problems_of(import_text(kNetdev + "link mlx5_1/1 state ACTIVE netdev eth2\n")),
              ElementsAre("a.txt:2: the netdev of mlx5_1 port 1 is \"eth2\" here, but \"eth1\" at a.txt:1"));
  EXPECT_THAT(problems_of(import_text("link mlx5_1/1 lid 4 state ACTIVE\n" + kGids)),
              ElementsAre(HasSubstr(
                  "a.txt:3: the link layer of mlx5_1 port 1 is Ethernet here, but InfiniBand at a.txt:1")));
}

TEST(Import, TwoTablesOfOnePortWithDifferentRowsAreAContradiction) {
  const std::string row = "mlx5_1 1 5 ::ffff:10.0.0.9 10.0.0.9 v2 eth1\n";
  const std::string more = kGids.substr(0, kGids.find("n_gids")) + row + "n_gids_found=3\n";
  EXPECT_THAT(problems_of(import_text(kGids + "after\n" + more)),
              ElementsAre("a.txt:6: the GID table of mlx5_1 port 1 that begins here has a row 5, but that at "
                          "a.txt:1 has none"));
  const auto files = import_listings({{"a", more}, {"b", kGids}}, options_for());
  EXPECT_THAT(
      problems_of(files),
      ElementsAre(
          "b:1: the GID table of mlx5_1 port 1 that begins here has no row 5, but that at a:1 has one"));
  expect_all_facts(port_of(kGids + kDevinfo + kGids));
  const std::string verbose =
      "hca_id: mlx5_1\n transport: InfiniBand (0)\n phys_port_cnt: 1\n port: 1\n state: PORT_ACTIVE (4)\n "
      "link_layer: Ethernet\n GID[ 1]: fe80::1, RoCE v1\n";
  EXPECT_THAT(problems_of(import_text(verbose + verbose)), IsEmpty());
  EXPECT_THAT(problems_of(import_text(verbose + verbose + " GID[ 2]: fe80::1, RoCE v2\n")), SizeIs(1));
}

TEST(Import, TheNetdevOfALagMayDifferFromThatOfItsRows) {
  const Port port = port_of("link mlx5_1/1 state ACTIVE netdev eth9\n" + kGids);
  EXPECT_EQ(port.netdev, "eth9");
  EXPECT_EQ(port.gids->front().netdev, "eth1");
}

TEST(Import, APortBeyondTheAnnouncedNumberIsAContradiction) {
  EXPECT_THAT(problems_of(import_text("mlx5_1 port 2 ==> eth1 (Up)\n" + kDevinfo)),
              ElementsAre("a.txt:1: mlx5_1 port 2 is beyond the number of ports, 1, at a.txt:5"));
}

TEST(Import, OtherListingsTellTheTypeOfVersion1Rows) {
  const std::string row = "mlx5_1 1 0 fe80:0000:0000:0000:b83f:d203:00b4:f5a2 v1\n";
  EXPECT_THAT(rows_of(port_of(row + "link mlx5_1/1 lid 4 state ACTIVE\n")),
              ElementsAre("0 fe80::b83f:d203:b4:f5a2 IB - -"));
  EXPECT_THAT(rows_of(port_of(row + kDevinfo)), ElementsAre("0 fe80::b83f:d203:b4:f5a2 RoCEv1 - -"));
}

TEST(Import, ERdmaWithVersion2RowsStaysERdma) {
  std::string devinfo = kDevinfo;
  devinfo.replace(devinfo.find("InfiniBand (0)"), 14, "eRDMA");
  EXPECT_EQ(port_of(devinfo + kGids).transport, Transport::eRDMA);
}

TEST(Import, EveryProblemIsListedAndThereIsNoTable) {
  const auto outcome = import_listings(
      {{"a", "mlx5_1 1 x fe80::1 v2 eth1\nmlx5_1 port 1 ==> eth1\n"}, {"b", "just words\n"}}, options_for());
  EXPECT_FALSE(outcome.report);
  EXPECT_THAT(problems_of(outcome), ElementsAre(StartsWith("a:1: "), StartsWith("a:2: "),
                                                "b: expected a listing with at least one port"));
}

TEST(Import, AGivenFormatRefusesLinesOfTheOthers) {
  EXPECT_THAT(problems_of(import_text(kGids, ListingFormat::ShowGids)), IsEmpty());
  EXPECT_THAT(problems_of(import_text(kGids + kNetdev, ListingFormat::ShowGids)),
              ElementsAre(HasSubstr("a.txt:5: this looks like a listing's line, but does not stand below the "
                                    "header of the given format")));
  EXPECT_FALSE(import_text(kDevinfo, ListingFormat::Ibstat).report);
}

TEST(Import, FormatNamesAreThoseOfTheOption) {
  for (const std::string name :
       {"auto", "show_gids", "ibv_devinfo", "rdma-link", "ibstat", "ibstatus", "ibdev2netdev"}) {
    const auto format = parse_listing_format(name);
    ASSERT_TRUE(format) << name;
    EXPECT_EQ(to_string(*format), name);
  }
  EXPECT_EQ(parse_listing_format("rdma_link"), std::nullopt);
}

TEST(Import, OptionsMustBeNames) {
  for (const std::string node : {"", "Node", "-a", "a-", "a..b", "a.-b", "a_b"}) {
    ImportOptions options = options_for();
    options.node = node;
    EXPECT_THAT(problems_of(import_listings({{"a", kGids}}, options)),
                ElementsAre(StartsWith("expected a node name")))
        << node;
  }
  ImportOptions options = options_for();
  options.node_interface = "eth 0";
  EXPECT_THAT(problems_of(import_listings({{"a", kGids}}, options)),
              ElementsAre(StartsWith("expected the name of a network")));
  EXPECT_THAT(problems_of(import_listings({}, options_for())), ElementsAre("expected at least one file"));
}

TEST(Import, TextIsBounded) {
  EXPECT_THAT(problems_of(import_text(kGids + std::string(5U << 20U, '\n'))),
              ElementsAre("a.txt: expected at most 4 MiB of text"));
  EXPECT_THAT(problems_of(import_text(kGids + std::string(5000, 'x') + "\n")),
              ElementsAre("a.txt:5: expected a line of at most 4096 bytes"));
  EXPECT_THAT(problems_of(import_text(kGids + std::string(1, '\0'))), ElementsAre(HasSubstr("NUL")));
  std::string ports;
  for (int i = 0; i <= 256; ++i) ports += "mlx5_" + std::to_string(i) + " port 1 ==> eth1 (Up)\n";
  EXPECT_THAT(problems_of(import_text(ports)), ElementsAre("a.txt:257: expected at most 256 ports"));
}

TEST(Import, RowsAreBoundedOverAllPorts) {
  std::string rows;
  for (int i = 0; i < 4096; ++i)
    rows += "mlx5_" + std::to_string(i / 1024) + " 1 " + std::to_string(i % 1024) + " fe80::1 v2 eth1\n";
  EXPECT_THAT(problems_of(import_text(rows)), IsEmpty());
  EXPECT_THAT(
      problems_of(import_text(rows + "mlx5_9 1 0 fe80::1 v2 eth1\n")),
      ElementsAre("a.txt:4097: expected at most 4096 rows in all, and those of mlx5_9 port 1 are beyond"));
}

// 24 kB took 40 s and 1.2 GB: a repeated port was a problem for every earlier one.
TEST(Import, APortRepeatedInABlockIsToldOncePerLineAndInAHundredLines) {
  std::string text = "hca_id: mlx5_0\n";
  for (int i = 0; i < 3000; ++i) text += "port: 1\n";
  const ImportOutcome outcome = import_text(text);
  EXPECT_EQ(outcome.findings.size(), 99U);
  EXPECT_EQ(outcome.findings.size() + outcome.more, 2999U);
  EXPECT_EQ(problems_of(outcome)[1], "a.txt:4: port 1 of mlx5_0 stands twice in the block, first at a.txt:2");
}

TEST(Import, StatementsOfAllFilesAreBounded) {
  std::string text;
  for (int i = 0; i < 70000; ++i) text += "mlx5_1 port 1 ==> eth1 (Up)\n";
  EXPECT_THAT(problems_of(import_text(text)),
              ElementsAre("a.txt:65537: expected at most 65536 ports and rows in all files"));
}

TEST(Import, MessagesAndSamplesArePrintable) {
  const auto skipped = import_text(kGids + "\x1b[31mred\x1b[0m \xe4\xb8\xad " + std::string(300, 'x') + "\n");
  ASSERT_TRUE(skipped.report);
  ASSERT_THAT(skipped.report->samples, SizeIs(1));
  EXPECT_THAT(skipped.report->samples[0].text, StartsWith("?[31mred?[0m ??? xxx"));
  EXPECT_LT(skipped.report->samples[0].text.size(), 120U);
  EXPECT_THAT(problems_of(import_text("hca_id: \x1b[2J\n")), ElementsAre(HasSubstr("\"?[2J\"")));
}

}  // namespace
}  // namespace nccl_env::import_test
