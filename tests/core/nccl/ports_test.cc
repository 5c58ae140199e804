// SPDX-License-Identifier: Apache-2.0
// ncclIbInit (src/transport/net_ib.cc), ncclIbInitDevices (src/transport/net_ib/init.cc).
#include <gmock/gmock.h>

#include "core/nccl/nccl_fabric.h"

namespace nccl_env::test::ports_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

NcclSelection select(const NodeFabric& table, const NcclEnv& env, std::string_view at = "2.26.2") {
  return nccl_select(table, env, version(at));
}

Port down(Port port) {
  port.state = PortState::Down;
  return port;
}

Port at_pci(Port port, const char* address, const char* guid = "") {
  port.pci_address = address;
  port.sys_image_guid = guid;
  return port;
}

TEST(NcclPorts, WithoutAListEveryActivePort) {
  const auto table = fabric({roce("mlx5_0"), down(roce("mlx5_1")), roce("mlx5_2")});
  EXPECT_THAT(names(select(table, {})), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(names(select(table, {{"NCCL_IB_HCA", ""}})), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(select(table, {}).notes, IsEmpty());
}

TEST(NcclPorts, OnlyActivePortsOfTheTwoLinkLayers) {
  Port none = roce("mlx5_3");
  none.link_layer = LinkLayer::Unspecified;
  Port armed = roce("mlx5_2");
  armed.state = PortState::Armed;
  const auto selection = select(fabric({roce("mlx5_0"), armed, none}), {});
  EXPECT_THAT(names(selection), ElementsAre("mlx5_0:1"));
}

TEST(NcclPorts, AListedPortThatIsDownIsPassedOver) {
  const auto selection =
      select(fabric({roce("mlx5_0"), down(roce("mlx5_1"))}), {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}});
  EXPECT_THAT(names(selection), ElementsAre("mlx5_0:1"));
  EXPECT_THAT(all_notes(selection),
              HasSubstr("passes over ports that NCCL_IB_HCA names: mlx5_1:1 (not Active)."));
}

TEST(NcclPorts, WhatIsNotKnownStaysACandidate) {
  Port unknown = roce("mlx5_0");
  unknown.state.reset();
  const auto selection = select(fabric({unknown, roce("mlx5_1")}), {});
  EXPECT_THAT(names(selection), ElementsAre("mlx5_0:1", "mlx5_1:1"));
  EXPECT_THAT(all_notes(selection), HasSubstr("because the table does not say: mlx5_0:1."));
}

TEST(NcclPorts, TheListIsMatchedAndExplained) {
  const auto table = fabric({roce("mlx5_0"), roce("mlx5_1"), roce("mlx5_10")});
  const auto prefix = select(table, {{"NCCL_IB_HCA", "mlx5_1"}});
  EXPECT_THAT(names(prefix), ElementsAre("mlx5_1:1", "mlx5_10:1"));
  EXPECT_THAT(all_notes(prefix),
              HasSubstr("has no '=', so that names match as prefixes, of more than one HCA: mlx5_1."));
  const auto blank = select(table, {{"NCCL_IB_HCA", "=mlx5_0, mlx5_1:0"}});
  EXPECT_THAT(names(blank), ElementsAre("mlx5_0:1"));
  EXPECT_THAT(all_notes(blank), HasSubstr("matches no port of the table: \" mlx5_1:0\"."));
  const auto everything = select(table, {{"NCCL_IB_HCA", ":1"}});
  EXPECT_EQ(names(everything).size(), 3U);
  EXPECT_THAT(all_notes(everything),
              HasSubstr("NCCL_IB_HCA=\":1\" names nothing, which NCCL takes as every HCA."));
  EXPECT_THAT(select(table, {{"NCCL_IB_HCA", "=mlx5_1"}}).notes, IsEmpty());
}

TEST(NcclPorts, TheListsOrderIsIrrelevant) {
  const auto table = fabric({roce("mlx5_0"), roce("mlx5_1")});
  EXPECT_THAT(names(select(table, {{"NCCL_IB_HCA", "=mlx5_1,mlx5_0"}})), ElementsAre("mlx5_0:1", "mlx5_1:1"));
}

TEST(NcclPorts, AListThatMatchesNothingMeansSocketsUnlessIbIsForced) {
  const auto table = fabric({roce("mlx5_0")});
  const auto silent = select(table, {{"NCCL_IB_HCA", "^"}});
  EXPECT_THAT(silent.ports, IsEmpty());
  EXPECT_THAT(all_notes(silent), HasSubstr("names nothing, which NCCL takes as no HCA."));
  EXPECT_THAT(all_notes(silent), HasSubstr("silently falls back to sockets"));
  const NcclEnv forced{{"NCCL_IB_HCA", "=nope"}, {"NCCL_NET", "ib"}};
  EXPECT_THAT(all_notes(select(table, forced, "2.26.2")), HasSubstr("Error: network IB not found."));
  EXPECT_THAT(all_notes(select(table, forced, "2.27.3")), HasSubstr("Failed to initialize any NET plugin"));
  EXPECT_THAT(all_notes(select(table, forced)), Not(HasSubstr("falls back")));
}

TEST(NcclPorts, NcclNetDecidesWhetherIbIsUsed) {
  const auto table = fabric({roce("mlx5_0")});
  const auto with_net = [&](const char* net, const char* at) {
    return select(table, {{"NCCL_NET", net}}, at);
  };
  EXPECT_THAT(names(with_net("IB", "2.26.2")), ElementsAre("mlx5_0:1"));
  EXPECT_THAT(names(with_net("Ib", "2.26.2")), ElementsAre("mlx5_0:1"));
  EXPECT_THAT(with_net("SOCKET", "2.26.2").ports, IsEmpty());
  EXPECT_THAT(all_notes(with_net("SOCKET", "2.26.2")), HasSubstr("NCCL uses sockets"));
  EXPECT_THAT(with_net("IBext_v8", "2.26.2").ports, IsEmpty());
  EXPECT_THAT(all_notes(with_net("IBext_v8", "2.26.2")), HasSubstr("asks for a network plugin"));
  EXPECT_THAT(with_net("", "2.26.2").ports, IsEmpty());
  EXPECT_THAT(all_notes(with_net("", "2.26.2")),
              HasSubstr("set but empty: initialisation fails (Error: network  not found.)"));
  EXPECT_THAT(all_notes(with_net("", "2.27.3")), HasSubstr("Failed to initialize any NET plugin"));
}

TEST(NcclPorts, IbDisableIsAnIntegerWithBaseZero) {
  const auto table = fabric({roce("mlx5_0")});
  for (const char* text : {"1", "-1", "0x1", "010", "2abc"}) {
    const auto selection = select(table, {{"NCCL_IB_DISABLE", text}});
    EXPECT_THAT(selection.ports, IsEmpty()) << text;
    EXPECT_THAT(all_notes(selection), HasSubstr("NCCL_IB_DISABLE is not zero: NCCL uses sockets")) << text;
  }
  for (const char* text : {"0", "", "true", "yes", "0x0", "99999999999999999999"}) {
    EXPECT_THAT(names(select(table, {{"NCCL_IB_DISABLE", text}})), ElementsAre("mlx5_0:1")) << text;
  }
  EXPECT_THAT(all_notes(select(table, {{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "IB"}})),
              HasSubstr("initialisation fails"));
}

TEST(NcclPorts, LimitOfDevicePorts) {
  std::vector<Port> ports;
  for (int i = 0; i < 40; ++i) {
    ports.push_back(roce("hca" + std::to_string(i)));
  }
  const auto table = fabric(ports);
  EXPECT_EQ(select(table, {}, "2.18.3").ports.size(), 16U);
  EXPECT_EQ(select(table, {}, "2.18.5").ports.size(), 32U);
  EXPECT_THAT(
      all_notes(select(table, {}, "2.18.3")),
      HasSubstr("uses at most 16 ports and leaves out hca16:1, hca17:1, hca18:1, hca19:1, hca20:1, hca21:1, "
                "hca22:1, hca23:1 and 16 more."));
}

TEST(NcclPorts, EntriesThatNcclDoesNotRead) {
  std::string list = "=";
  for (int i = 0; i < 20; ++i) {
    list += "mlx5_0,";
  }
  const auto table = fabric({roce("mlx5_0")});
  EXPECT_THAT(all_notes(select(table, {{"NCCL_IB_HCA", list}}, "2.18.3")),
              HasSubstr("reads 16 entries of NCCL_IB_HCA and silently ignores 4 more."));
  EXPECT_THAT(select(table, {{"NCCL_IB_HCA", list}}, "2.18.5").notes,
              Not(testing::Contains(HasSubstr("ignores"))));
  const NcclEnv long_name{{"NCCL_IB_HCA", std::string(64, 'n')}};
  EXPECT_THAT(all_notes(select(table, long_name, "2.30.4")), HasSubstr("overruns NCCL's memory"));
  EXPECT_THAT(all_notes(select(table, long_name, "2.30.7")), HasSubstr("cuts to 63"));
}

TEST(NcclPorts, PciOrderFrom2297) {
  const auto table = fabric({at_pci(roce("mlx5_0"), "0000:9a:00.0"), at_pci(roce("mlx5_1"), "0000:1B:00.1"),
                             at_pci(roce("mlx5_2"), "0000:1b:00.0")});
  EXPECT_THAT(names(select(table, {}, "2.29.7")), ElementsAre("mlx5_2:1", "mlx5_1:1", "mlx5_0:1"));
  EXPECT_THAT(names(select(table, {}, "2.29.3")), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
  EXPECT_THAT(all_notes(select(table, {}, "2.29.3")), HasSubstr("not by PCI address"));
  EXPECT_THAT(names(select(table, {{"NCCL_IB_DEVICE_PCI_ORDER", "0"}}, "2.29.7")),
              ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
}

TEST(NcclPorts, PciOrderNeedsAllAddresses) {
  const auto selection =
      select(fabric({at_pci(roce("mlx5_0"), "0000:9a:00.0"), roce("mlx5_1"), at_pci(roce("mlx5_2"), "bad")}),
             {}, "2.29.7");
  EXPECT_THAT(names(selection), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
  EXPECT_THAT(all_notes(selection), HasSubstr("PCI address, which is not known for all"));
}

TEST(NcclPorts, MixedLinkLayers) {
  EXPECT_THAT(all_notes(select(fabric({roce("mlx5_0"), infiniband("mlx5_1")}), {})),
              HasSubstr("two link layers"));
  EXPECT_THAT(all_notes(select(fabric({roce("mlx5_0"), infiniband("mlx5_1")}), {{"NCCL_IB_HCA", "=mlx5_0"}})),
              Not(HasSubstr("two link layers")));
}

TEST(NcclPorts, OneCardsPortsMayBeMerged) {
  const auto table =
      fabric({at_pci(roce("mlx5_0"), "0000:1b:00.0", "b8ce"), at_pci(roce("mlx5_1"), "0000:1b:00.1", "b8ce"),
              at_pci(roce("mlx5_2"), "0000:9a:00.0", "b8cf")});
  EXPECT_THAT(all_notes(select(table, {}, "2.19.3")), Not(HasSubstr("merged")));
  EXPECT_THAT(all_notes(select(table, {}, "2.20.5")),
              HasSubstr("may be merged with it (NCCL_IB_MERGE_NICS): mlx5_1:1."));
  EXPECT_THAT(all_notes(select(table, {}, "2.24.3")),
              HasSubstr("may be merged with it (NCCL_NET_MERGE_LEVEL): mlx5_1:1."));
  EXPECT_THAT(select(table, {{"NCCL_IB_MERGE_NICS", "0"}}, "2.24.3").notes, IsEmpty());
  EXPECT_THAT(select(table, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_2"}}, "2.24.3").notes, IsEmpty());
}

TEST(NcclPorts, PlanesAreBoundedFrom2307) {
  std::vector<Port> ports;
  std::string list = "=";
  for (int i = 0; i < 13; ++i) {
    ports.push_back(roce("hca" + std::to_string(i)));
    list += "hca" + std::to_string(i) + ":1::" + std::to_string(i) + ",";
  }
  EXPECT_THAT(all_notes(select(fabric(ports), {{"NCCL_IB_HCA", list}}, "2.30.7")), HasSubstr("12 planes"));
  ports.pop_back();
  EXPECT_THAT(all_notes(select(fabric(ports), {{"NCCL_IB_HCA", list}}, "2.30.7")),
              Not(HasSubstr("12 planes")));
  EXPECT_THAT(all_notes(select(fabric(ports), {{"NCCL_IB_HCA", "=hca0:1::16384"}}, "2.30.7")),
              HasSubstr("bit 14"));
  EXPECT_THAT(all_notes(select(fabric(ports), {{"NCCL_IB_HCA", "=hca0:1::16384"}}, "2.30.4")),
              Not(HasSubstr("bit 14")));
}

}  // namespace
}  // namespace nccl_env::test::ports_test
