// SPDX-License-Identifier: Apache-2.0
// ncclIbInit (src/transport/net_ib.cc), ncclIbInitDevices (src/transport/net_ib/init.cc).
#include <gmock/gmock.h>

#include "core/engines/nccl/nccl_fabric.h"
#include "support/golden.h"

namespace nccl_env::test::ports_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NcclSelection select(const NodeFabric& table, const NcclEnv& env, std::string_view at = "2.26.2") {
  return nccl_select(table, env, version(at));
}

// The ports that are chosen; the golden holds the notes.
std::vector<std::string> chosen(const NodeFabric& table, const NcclEnv& env,
                                const std::string& at = "2.26.2") {
  std::string input = "NCCL " + at + ", " + std::to_string(table.ports.size()) + " ports";
  for (const auto& [name, value] : env) input += " " + name + "=" + value;
  const NcclSelection selection = select(table, env, at);
  tests::expect_golden(input, all_notes(selection));
  return names(selection);
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

TEST(NcclPorts, WithoutAListEveryActivePortOfTheTwoLinkLayers) {
  Port none = roce("mlx5_3"), armed = roce("mlx5_4");
  none.link_layer = LinkLayer::Unspecified;
  armed.state = PortState::Armed;
  const auto table = fabric({roce("mlx5_0"), down(roce("mlx5_1")), roce("mlx5_2"), none, armed});
  EXPECT_THAT(names(select(table, {})), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(names(select(table, {{"NCCL_IB_HCA", ""}})), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_THAT(select(table, {}).notes, IsEmpty());
  Port unknown = roce("mlx5_0");
  unknown.state.reset();
  EXPECT_THAT(chosen(fabric({unknown, roce("mlx5_1")}), {}), ElementsAre("mlx5_0:1", "mlx5_1:1"));
}

TEST(NcclPorts, TheListIsMatchedAndExplained) {
  const auto table = fabric({roce("mlx5_0"), roce("mlx5_1"), roce("mlx5_10"), down(roce("mlx5_2"))});
  EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", "mlx5_1"}}), ElementsAre("mlx5_1:1", "mlx5_10:1"));
  EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", "=mlx5_0, mlx5_1:0"}}), ElementsAre("mlx5_0:1"));
  EXPECT_EQ(chosen(table, {{"NCCL_IB_HCA", ":1"}}).size(), 3U);
  EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_2"}}), ElementsAre("mlx5_0:1")) << "one is down";
  EXPECT_THAT(names(select(table, {{"NCCL_IB_HCA", "=mlx5_1,mlx5_0"}})), ElementsAre("mlx5_0:1", "mlx5_1:1"))
      << "the order does not matter";
  EXPECT_THAT(select(table, {{"NCCL_IB_HCA", "=mlx5_1"}}).notes, IsEmpty());
}

TEST(NcclPorts, NcclNetAndIbDisableDecideWhetherIbIsUsed) {
  const auto table = fabric({roce("mlx5_0")});
  EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", "^"}}), IsEmpty());
  for (const char* at : {"2.26.2", "2.27.3"})
    EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", "=nope"}, {"NCCL_NET", "ib"}}, at), IsEmpty());
  for (const char* net : {"IB", "Ib"})
    EXPECT_THAT(chosen(table, {{"NCCL_NET", net}}), ElementsAre("mlx5_0:1")) << net;
  for (const char* net : {"SOCKET", "IBext_v8", ""})
    EXPECT_THAT(chosen(table, {{"NCCL_NET", net}}), IsEmpty()) << net;
  EXPECT_THAT(chosen(table, {{"NCCL_NET", ""}}, "2.27.3"), IsEmpty());
  for (const char* text : {"1", "-1", "0x1", "010", "2abc"})
    EXPECT_THAT(chosen(table, {{"NCCL_IB_DISABLE", text}}), IsEmpty()) << text;
  for (const char* text : {"0", "", "true", "yes", "0x0", "99999999999999999999"})
    EXPECT_THAT(chosen(table, {{"NCCL_IB_DISABLE", text}}), ElementsAre("mlx5_0:1")) << text;
  EXPECT_THAT(chosen(table, {{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "IB"}}), IsEmpty());
}

TEST(NcclPorts, LimitOfDevicePorts) {
  std::vector<Port> ports;
  for (int i = 0; i < 40; ++i) ports.push_back(roce("hca" + std::to_string(i)));
  EXPECT_EQ(chosen(fabric(ports), {}, "2.18.3").size(), 16U);
  EXPECT_EQ(chosen(fabric(ports), {}, "2.18.5").size(), 32U);
}

TEST(NcclPorts, EntriesThatNcclDoesNotRead) {
  std::string list = "=";
  for (int i = 0; i < 20; ++i) list += "mlx5_0,";
  const auto table = fabric({roce("mlx5_0")});
  for (const char* at : {"2.18.3", "2.18.5"})
    EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", list}}, at), ElementsAre("mlx5_0:1"));
  for (const char* at : {"2.30.4", "2.30.7"})
    EXPECT_THAT(chosen(table, {{"NCCL_IB_HCA", std::string(64, 'n')}}, at), IsEmpty());
}

TEST(NcclPorts, PciOrderFrom2297) {
  const auto table = fabric({at_pci(roce("mlx5_0"), "0000:9a:00.0"), at_pci(roce("mlx5_1"), "0000:1B:00.1"),
                             at_pci(roce("mlx5_2"), "0000:1b:00.0")});
  const auto by_pci = ElementsAre("mlx5_2:1", "mlx5_1:1", "mlx5_0:1");
  const auto by_name = ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1");
  EXPECT_THAT(chosen(table, {}, "2.29.7"), by_pci);
  EXPECT_THAT(chosen(table, {}, "2.29.3"), by_name);
  EXPECT_THAT(chosen(table, {{"NCCL_IB_DEVICE_PCI_ORDER", "0"}}, "2.29.7"), by_name);
  const auto partly =
      fabric({at_pci(roce("mlx5_0"), "0000:9a:00.0"), roce("mlx5_1"), at_pci(roce("mlx5_2"), "bad")});
  EXPECT_THAT(chosen(partly, {}, "2.29.7"), by_name) << "it needs all addresses";
}

TEST(NcclPorts, MixedLinkLayers) {
  const auto table = fabric({roce("mlx5_0"), infiniband("mlx5_1")});
  EXPECT_EQ(chosen(table, {}).size(), 2U);
  EXPECT_EQ(chosen(table, {{"NCCL_IB_HCA", "=mlx5_0"}}).size(), 1U);
}

TEST(NcclPorts, OneCardsPortsMayBeMerged) {
  const auto table =
      fabric({at_pci(roce("mlx5_0"), "0000:1b:00.0", "b8ce"), at_pci(roce("mlx5_1"), "0000:1b:00.1", "b8ce"),
              at_pci(roce("mlx5_2"), "0000:9a:00.0", "b8cf")});
  for (const char* at : {"2.19.3", "2.20.5", "2.24.3"}) EXPECT_EQ(chosen(table, {}, at).size(), 3U) << at;
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
  chosen(fabric(ports), {{"NCCL_IB_HCA", list}}, "2.30.7");
  ports.pop_back();
  chosen(fabric(ports), {{"NCCL_IB_HCA", list}}, "2.30.7");
  for (const char* at : {"2.30.4", "2.30.7"}) chosen(fabric(ports), {{"NCCL_IB_HCA", "=hca0:1::16384"}}, at);
}

}  // namespace
}  // namespace nccl_env::test::ports_test
