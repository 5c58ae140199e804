// SPDX-License-Identifier: Apache-2.0
#include "listing/import_fixture.h"

namespace nccl_env::show_gids_test {
namespace {

using namespace nccl_env::tests;

const std::string kHeader =
    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  "
    "\t---\t---\n";

TEST(ShowGids, ReadsRowsWithTabsAndWithCollapsedBlanks) {
  const std::vector<std::string> expected = {"0 fe80::1 RoCEv1 - eth1", "3 10.0.0.1 RoCEv2 10.0.0.1 eth1"};
  const std::string fe80 = "fe80:0000:0000:0000:0000:0000:0000:0001";
  const std::string mapped = "0000:0000:0000:0000:0000:ffff:0a00:0001";
  const auto tabs = port_of(kHeader + "mlx5_1\t1\t0\t" + fe80 + "\t\t\tv1\teth1\nmlx5_1\t1\t3\t" + mapped +
                            "\t10.0.0.1  \tv2\teth1\nn_gids_found=2\n");
  EXPECT_EQ(rows_of(tabs), expected);
  EXPECT_EQ(tabs.hca, "mlx5_1");
  EXPECT_EQ(tabs.number, 1);
  EXPECT_EQ(tabs.netdev, "eth1");
  EXPECT_EQ(tabs.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(tabs.transport, Transport::RoCE);
  EXPECT_EQ(tabs.state, std::nullopt);

  const auto blanks = port_of("\xc2\xa0 mlx5_1 1 0 " + fe80 + " v1 eth1\r\n    mlx5_1 1 3 " + mapped +
                              " 10.0.0.1 v2 eth1\r\n");
  EXPECT_EQ(rows_of(blanks), expected);
}

TEST(ShowGids, RowsHaveWhatTheirLinesTell) {
  struct Lines {
    std::string text;
    std::vector<std::string> rows;
    std::optional<std::string> netdev;
    std::optional<Transport> transport;
  };
  const Lines all[] = {
      {"mlx5_1 1 3 ::ffff:10.0.0.1 v2 eth1\n", {"3 10.0.0.1 RoCEv2 10.0.0.1 eth1"}, "eth1", Transport::RoCE},
      {"mlx5_1 1 5 fd02:0000:0000:0001:0000:0000:0000:0009 v2 eth1\n",
       {"5 fd02:0:0:1::9 RoCEv2 fd02:0:0:1::9 eth1"},
       "eth1",
       Transport::RoCE},
      {"mlx5_0 1 0 fe80:0000:0000:0000:b83f:d203:00b4:f5a2 v1\n",
       {"0 fe80::b83f:d203:b4:f5a2 - - -"},
       {},
       {}},
      {"mlx5_1 1 0 fe80::1 v1\nmlx5_1 1 1 fe80::1 v2 eth1\n",
       {"0 fe80::1 RoCEv1 - -", "1 fe80::1 RoCEv2 - eth1"},
       {},
       Transport::RoCE},
      // Of a VLAN.
      {"mlx5_1 1 3 ::ffff:10.0.0.1 10.0.0.1 v2 eth1\nmlx5_1 1 5 ::ffff:10.1.0.1 10.1.0.1 v2 eth1.100\n",
       {"3 10.0.0.1 RoCEv2 10.0.0.1 eth1", "5 10.1.0.1 RoCEv2 10.1.0.1 eth1.100"},
       {},
       Transport::RoCE}};
  for (const Lines& lines : all) {
    SCOPED_TRACE(lines.text);
    const Port port = port_of(lines.text);
    EXPECT_EQ(rows_of(port), lines.rows);
    EXPECT_EQ(port.netdev, lines.netdev);
    EXPECT_EQ(port.transport, lines.transport);
    EXPECT_EQ(port.link_layer, lines.transport ? std::optional(LinkLayer::Ethernet) : std::nullopt);
  }
}

TEST(ShowGids, PortsOfOneDeviceAreApart) {
  const auto table = table_of("mlx4_0 1 0 fe80::1 v2 eth0\nmlx4_0 2 0 fe80::2 v2 eth1\n");
  ASSERT_THAT(table.ports, SizeIs(2));
  EXPECT_EQ(table.ports[1].number, 2);
  EXPECT_THAT(rows_of(table.ports[1]), ElementsAre("0 fe80::2 RoCEv2 - eth1"));
}

TEST(ShowGids, PromptsBlankLinesAndNotesStandBetweenRows) {
  const auto outcome = import_text("root@host:/# show_gids\n" + kHeader +
                                   "mlx5_1 1 0 fe80::1 v2 eth1\n\nthe second one is the storage NIC\n"
                                   "# management follows\n"
                                   "mlx5_2 1 0 fe80::2 v2 eth2\nn_gids_found=2\nroot@host:/#\n");
  EXPECT_THAT(problems_of(outcome), IsEmpty());
  ASSERT_TRUE(outcome.report);
  EXPECT_EQ(outcome.report->skipped_lines, 4);
}

TEST(ShowGids, TheCountMustEqualTheRows) {
  EXPECT_THAT(problems_in(kHeader + "mlx5_1 1 0 fe80::1 v2 eth1\nn_gids_found=2\n"),
              ElementsAre("a.txt:4: expected as many rows as n_gids_found=2 says, but 1 were read"));
  EXPECT_THAT(problems_in("mlx5_1 1 0 fe80::1 v2 eth1\nn_gids_found=x\n"),
              ElementsAre(HasSubstr("a.txt:2: expected n_gids_found=NUMBER")));
  EXPECT_THAT(problems_in(kHeader + "mlx5_1 1 0 fe80::1 v2 eth1\nn_gids_found=1\n" + kHeader +
                          "mlx5_2 1 0 fe80::2 v2 eth2\nn_gids_found=1\n"),
              IsEmpty())
      << "of each section";
  for (const std::string& none : {kHeader + "n_gids_found=0\n", kHeader})
    EXPECT_THAT(problems_in(none), ElementsAre(HasSubstr("at least one port")));
  const std::string row = "mlx5_1 1 3 ::ffff:10.0.0.1 10.0.0.1 v2 eth1\n";
  EXPECT_THAT(problems_in(row + row),
              ElementsAre("a.txt:2: row 3 of mlx5_1 port 1 stands twice, first in line 1"));
}

struct BadRow {
  std::string row;
  std::string expected;
};

class ShowGidsBadRow : public ::testing::TestWithParam<BadRow> {};

TEST_P(ShowGidsBadRow, IsRefusedWithItsLine) {
  const auto outcome = import_text(kHeader + "mlx5_1 1 0 fe80::1 v2 eth1\n" + GetParam().row + "\n");
  EXPECT_FALSE(outcome.report);
  EXPECT_THAT(problems_of(outcome), ElementsAre(StartsWith("a.txt:4: ")));
  EXPECT_THAT(problems_of(outcome), ElementsAre(HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ShowGidsBadRow,
    ::testing::Values(
        BadRow{"mlx5_2 1", "\"\" is not a GID index"}, BadRow{"mlx5_2 1 0", "\"\" is not a GID"},
        BadRow{"mlx5_2 1 0 fe80::1", "the row ends before v1 or v2"},
        BadRow{"mlx5_2 1 0 fe80::1 v3 eth1", "\"v3\" is not v1 or v2"},
        BadRow{"mlx5_2 1 0 fe80::1 v2 eth1 eth2", "\"eth2\" is one word too many"},
        BadRow{"mlx5_2 1 0 fe80::1 v2 eth/1", "\"eth/1\" is not a netdev name"},
        BadRow{"mlx5_2 1 99999 fe80::1 v2 eth1", "\"99999\" is not a GID index"},
        BadRow{"mlx5_2 0 1 fe80::1 v2 eth1", "\"0\" is not a port number"},
        BadRow{"mlx5_2 1 3 0000:0000:0000:0000:0000:ffff:0a00 v2 eth1", "is not a GID"},
        BadRow{"mlx5_2 1 fe80:0000:0000:0000:0000:0000:0000:0001 v2 eth1", "is not a GID index"},
        BadRow{"mlx5_2 1 3 ::ffff:10.0.0.1 10.0.0 v2 eth1", "\"10.0.0\" is not an IPv4 address"},
        BadRow{"mlx5_2 1 3 ::ffff:10.0.0.1 10.0.0.2 v2 eth1", "the IPv4 column says 10.0.0.2"},
        BadRow{"mlx5_2 1 3 fe80::1 10.0.0.2 v2 eth1", "the IPv4 column says 10.0.0.2"},
        BadRow{"\x1b[1mmlx5_2 1 3 0000:0000:0000:0000:0000:ffff:0a00:0001 v2 eth1", "is not a device name"},
        BadRow{"Mlx5_2 1, 0000:0000-0000:0000-0000: FFFF: 2100:0 c57 33.0.12.87 v1 xgbe2",
               "\"1,\" is not a port number"}));

TEST(ShowGids, ARowOutsideASectionIsNoFreeText) {
  EXPECT_THAT(problems_in("Mlx5_2 1, 0000:0000-0000: FFFF: 2100:0 c57 33.0.12.87 v1 xgbe2\n"),
              ElementsAre(HasSubstr("a.txt:1: this looks like a listing's line, but does not stand below the "
                                    "header of a known listing")));
  EXPECT_THAT(problems_in("gids/3:0000:0000:0000:0000:0000:ffff:0a00:0001\n"), SizeIs(1));
}

TEST(ShowGids, AddressesOfIpAddrAreFreeText) {
  const auto outcome = import_text(
      "mlx5_1 1 0 fe80::1 v2 eth1\n2: eth0: <BROADCAST,UP> mtu 1500\n    link/ether 0c:42:a1:9a:67:66 brd "
      "ff\n"
      "    inet6 fe80::9459:9bff:fe54:7704/64 scope link\neth0 UP fe80::1/64\n");
  EXPECT_THAT(problems_of(outcome), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::show_gids_test
