// SPDX-License-Identifier: Apache-2.0
// ibv_devinfo, plain and -v.
#include "listing/import_fixture.h"

namespace nccl_env::ibv_devinfo_test {
namespace {

using namespace nccl_env::tests;

struct Shown {
  std::string transport = "InfiniBand (0)";
  std::string state = "PORT_ACTIVE (4)";
  std::string link_layer = "Ethernet";
  std::string guid = "b83f:d203:00b4:f5a2";
  std::string ports = "1";
  std::string more;  // lines of -v
};

std::string block(const Shown& shown) {
  return "hca_id:\tmlx5_1\n\ttransport:\t\t\t" + shown.transport + "\n\tfw_ver:\t28.40\n\tsys_image_guid:\t" +
         shown.guid + "\n\tboard_id:\tMT_0000000223\n\tphys_port_cnt:\t" + shown.ports +
         "\n\t\tport:\t1\n\t\t\tstate:\t\t\t" + shown.state +
         "\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n\t\t\tlink_layer:\t\t" +
         shown.link_layer + "\n" + shown.more;
}

Shown with(std::string Shown::*field, std::string value) {
  Shown shown;
  shown.*field = std::move(value);
  return shown;
}

const std::string kVerbose =
    "\t\t\tmax_msg_sz:\t\t0x40000000\n\t\t\tgid_tbl_len:\t\t256\n"
    "\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t25.0 Gbps (32)\n";

TEST(IbvDevinfo, ReadsThePort) {
  const Port port = port_of(block({}));
  EXPECT_EQ(port.hca, "mlx5_1");
  EXPECT_EQ(port.number, 1);
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(port.transport, Transport::RoCE);
  EXPECT_EQ(port.active_mtu, 1024);
  EXPECT_EQ(port.board_id, "MT_0000000223");
  EXPECT_EQ(port.sys_image_guid, "b83f:d203:00b4:f5a2");
  EXPECT_EQ(port.gids, std::nullopt);
  EXPECT_EQ(port.driver, std::nullopt);
  EXPECT_EQ(port.rate_gbps, std::nullopt);
}

Port port_with(std::string Shown::*field, std::string value) {
  return port_of(block(with(field, std::move(value))));
}

TEST(IbvDevinfo, ReadsStateTransportAndGuid) {
  EXPECT_EQ(port_with(&Shown::guid, "0000:0000:0000:0000").sys_image_guid, std::nullopt) << "not known";
  EXPECT_EQ(port_with(&Shown::state, "PORT_DOWN (1)").state, PortState::Down);
  EXPECT_EQ(port_with(&Shown::state, "PORT_INIT (2)").state, PortState::Init);
  EXPECT_EQ(port_with(&Shown::state, "PORT_ARMED (3)").state, PortState::Armed);
  EXPECT_EQ(port_with(&Shown::state, "PORT_ACTIVE").state, PortState::Active);
  EXPECT_EQ(port_with(&Shown::link_layer, "InfiniBand").transport, Transport::InfiniBand);
  EXPECT_EQ(port_with(&Shown::transport, "iWARP (1)").transport, Transport::iWARP);
  EXPECT_EQ(port_with(&Shown::transport, "eRDMA").transport, Transport::eRDMA);
  Shown efa = with(&Shown::transport, "unspecified (4)");
  efa.link_layer = "Unspecified";
  EXPECT_EQ(port_of(block(efa)).transport, std::nullopt);
  EXPECT_EQ(port_of(block(efa)).link_layer, LinkLayer::Unspecified);
}

TEST(IbvDevinfo, RefusesOtherValuesWithTheirLine) {
  const auto refused = [](std::string Shown::*field, std::string value, const std::string& problem) {
    EXPECT_THAT(problems_in(block(with(field, std::move(value)))), ElementsAre(HasSubstr(problem)));
  };
  refused(&Shown::state, "PORT_NOP (0)", "a.txt:8: expected PORT_DOWN");
  refused(&Shown::state, "PORT_ACTIVE (1)", "a.txt:8: ");
  refused(&Shown::link_layer, "Token Ring",
          "a.txt:11: expected Ethernet, InfiniBand or Unspecified, not \"Token Ring\"");
  refused(&Shown::transport, "SCSI (7)", "a.txt:2: expected transport");
  refused(&Shown::guid, "b83f:d203:xxxx:xxxx", "a.txt:4: expected a GUID");
  refused(&Shown::more, kVerbose.substr(0, kVerbose.find("\t\t\tactive_width")),
          "ends here without the last lines of its port");
  Shown roce_row = with(&Shown::more, kVerbose + "GID[  0]: fe80::1, RoCE v2\n");
  roce_row.link_layer = "InfiniBand";
  EXPECT_THAT(problems_in(block(roce_row)),
              ElementsAre("a.txt:16: the block says something else above: \"GID[  0]: fe80::1, RoCE v2\""));
  EXPECT_THAT(problems_in(block({}).substr(block({}).find("\t\tport:"))), Not(IsEmpty())) << "without a head";
}

TEST(IbvDevinfo, ABlockCutAnywhereIsRefused) {
  const std::string whole = block({});
  std::vector<std::string> accepted;
  for (std::size_t end = whole.find('\n') + 1; end < whole.size(); end = whole.find('\n', end) + 1) {
    const auto outcome = import_text(whole.substr(0, end) + "\n$ uptime\n");
    if (outcome.report) accepted.push_back(whole.substr(0, end));
    EXPECT_THAT(problems_of(outcome), ElementsAre(HasSubstr("ends here without")));
  }
  EXPECT_THAT(accepted, IsEmpty());
  EXPECT_THAT(problems_in(whole.substr(0, whole.find("\t\t\tlink_layer")) + whole),
              ElementsAre("a.txt:10: the block of \"mlx5_1\" ends here without the link layer of port 1"));
}

TEST(IbvDevinfo, ThePortCountMustBeShown) {
  EXPECT_THAT(
      problems_in(block(with(&Shown::ports, "2"))),
      ElementsAre("a.txt:11: the block of \"mlx5_1\" ends here with 1 of the 2 ports that line 6 announces"));
  const std::string second = "\t\tport:\t2\n\t\t\tstate:\tPORT_DOWN (1)\n\t\t\tlink_layer:\tInfiniBand\n";
  Shown two = with(&Shown::ports, "2");
  two.more = second;
  const auto table = table_of(block(two));
  ASSERT_THAT(table.ports, SizeIs(2));
  EXPECT_EQ(table.ports[1].transport, Transport::InfiniBand);
  EXPECT_EQ(table.ports[1].board_id, "MT_0000000223");
}

TEST(IbvDevinfo, RateIsWidthTimesLaneSpeed) {
  const Port port = port_with(&Shown::more, kVerbose);
  EXPECT_EQ(port.rate_gbps, 100);
  EXPECT_EQ(port.gid_table_length, 256);
  EXPECT_EQ(port.gids, std::nullopt) << "what the listing ends with may have been cut off";
  EXPECT_EQ(port_with(&Shown::more,
                      "\t\t\tactive_width:\tinvalid widthX (0)\n\t\t\tactive_speed:\tinvalid speed (0)\n")
                .rate_gbps,
            std::nullopt);
}

TEST(IbvDevinfo, ReadsRowsWithAndWithoutTypes) {
  const std::string rows =
      "\t\t\tGID[  0]:\t\tfe80::1, RoCE v1\n\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE "
      "v2\n\t\t\tGID[255]:\t\tfd02::9, RoCE v2\n";
  EXPECT_THAT(
      rows_of(port_with(&Shown::more, kVerbose + rows)),
      ElementsAre("0 fe80::1 RoCEv1 - -", "3 10.0.0.1 RoCEv2 10.0.0.1 -", "255 fd02::9 RoCEv2 fd02::9 -"));
  const std::string plain = "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:b83f:d203:00b4:f5a2\n";
  EXPECT_THAT(rows_of(port_with(&Shown::more, kVerbose + plain)),
              ElementsAre("0 fe80::b83f:d203:b4:f5a2 - - -"));
  Shown infiniband = with(&Shown::more, kVerbose + plain);
  infiniband.link_layer = "InfiniBand";
  EXPECT_THAT(rows_of(port_of(block(infiniband))), ElementsAre("0 fe80::b83f:d203:b4:f5a2 IB - -"));
}

std::string second_device(const std::string& more) {
  return replaced(block(with(&Shown::more, more)), "mlx5_1", "mlx5_2");
}

TEST(IbvDevinfo, ACompletePortWithoutRowsHasNone) {
  const std::string row = "\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2\n";
  const NodeFabric table = table_of(block(with(&Shown::more, kVerbose)) + second_device(kVerbose + row));
  ASSERT_THAT(table.ports, SizeIs(2));
  ASSERT_TRUE(table.ports[0].gids);
  EXPECT_THAT(*table.ports[0].gids, IsEmpty());
  EXPECT_THAT(rows_of(table.ports[1]), SizeIs(1));
}

TEST(IbvDevinfo, ABadRowIsRefused) {
  for (const std::string row : {"GID[  0]: fe80::1, RoCE v3", "GID[]: fe80::1", "GID[ 1: fe80::1",
                                "GID[ 1]: fe80", "GID[ 1]:", "GID[ 1]x: fe80::1"}) {
    const ImportOutcome outcome = import_text(
        block(with(&Shown::more, kVerbose + "GID[  3]: ::ffff:10.0.0.1, RoCE v2\n" + row + "\n")));
    EXPECT_THAT(problems_of(outcome), ElementsAre(HasSubstr("a.txt:17: expected GID[INDEX]"))) << row;
  }
}

}  // namespace
}  // namespace nccl_env::ibv_devinfo_test
