// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/verbs_rows.h"
#include "node/scripted_verbs.h"
#include "support/matchers.h"

namespace nccl_env::node::verbs_rows_test {
namespace {

using namespace nccl_env::tests;

constexpr VerbsPortAttributes kActiveHdr{4, 2, 5, 64, 2, 255};

RdmaDevice from_sysfs(const std::string& name) {
  RdmaDevice device;
  device.shared.hca = name;
  DevicePort& port = device.ports.emplace_back();
  port.link_layer = LinkLayer::Ethernet;
  port.state = PortState::Active;
  port.gid_table_length = 255;
  port.entries = std::vector<GidEntry>{{3, *parse_gid("::ffff:10.0.0.1"), GidType::RoCEv2, "eth0", {}}};
  return device;
}

VerbsGid row(int port, int index, const std::string& gid, unsigned type, unsigned ifindex) {
  return {port, index, *parse_gid(gid), type, ifindex};
}

void add(RdmaDevice& device, ScriptedVerbs& verbs) {
  std::vector<RdmaDevice> devices{device};
  Problems problems;
  EXPECT_TRUE(add_verbs(devices, verbs, problems));
  EXPECT_THAT(problems, IsEmpty());
  device = devices.front();
}

TEST(AddVerbs, RowsMtuAndSpeed) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].ports[1] = kActiveHdr;
  verbs.devices["mlx5_0"].rows = {row(1, 5, "::ffff:10.0.0.2", 2, 3), row(1, 4, "::ffff:10.0.0.2", 1, 3),
                                  row(2, 0, "fe80::1", 2, 4)};
  RdmaDevice device = from_sysfs("mlx5_0"), rated = device;
  rated.ports[0].rate_gbps = 400;
  add(rated, verbs);
  EXPECT_EQ(rated.ports[0].rate_gbps, 400) << "what sysfs knows stays";
  add(device, verbs);
  const DevicePort& port = device.ports[0];
  EXPECT_EQ(port.active_mtu, 4096);
  EXPECT_EQ(port.rate_gbps, 200);
  ASSERT_EQ(port.entries->size(), 2u);
  EXPECT_EQ(port.entries->at(0).index, 4);
  EXPECT_EQ(port.entries->at(0).type, GidType::RoCEv1);
  EXPECT_EQ(port.entries->at(1).type, GidType::RoCEv2);
  EXPECT_EQ(port.entries->at(1).ifindex, 3u);
  EXPECT_EQ(verbs.devices["mlx5_0"].opened, 2);
  EXPECT_EQ(verbs.devices["mlx5_0"].closed, 2);
}

TEST(AddVerbs, WhereVerbsGiveNothingEverythingIsOfSysfsAndThatIsOneSentence) {
  ScriptedVerbs unopened, without_files, unlisted;
  unopened.devices["mlx5_0"].open_error = "No such file or directory";
  unlisted.list_error = "ibv_get_device_list: Function not implemented";
  const std::pair<ScriptedVerbs*, std::string> cases[] = {
      {&unopened, "mlx5_0: ibv_open_device: No such file or directory"},
      {&without_files, "mlx5_0: libibverbs does not list it (is /dev/infiniband there?)"},
      {&unlisted, unlisted.list_error}};
  for (const auto& [verbs, why] : cases) {
    for (const std::size_t count : {1, 2}) {
      std::vector<RdmaDevice> devices{from_sysfs("mlx5_0"), from_sysfs("mlx5_1")};
      devices.resize(count);
      Problems problems;
      const Status added = add_verbs(devices, *verbs, problems);
      ASSERT_FALSE(added) << why;
      EXPECT_EQ(added.error().message, why);
      EXPECT_THAT(problems, IsEmpty());
      EXPECT_EQ(devices[0].ports[0].entries->at(0).netdev, "eth0");
    }
  }
  std::vector<RdmaDevice> none;
  Problems problems;
  EXPECT_TRUE(add_verbs(none, unlisted, problems)) << "nothing is listed for none";
  EXPECT_THAT(problems, IsEmpty());
}

TEST(AddVerbs, OneFailingQueryHidesNoOther) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].rows_error = "ibv_query_gid_table: Invalid argument";
  verbs.devices["mlx5_0"].ports[1] = kActiveHdr;
  verbs.devices["mlx5_1"].rows = {row(1, 7, "::ffff:10.0.0.3", 2, 3)};
  std::vector<RdmaDevice> devices{from_sysfs("mlx5_0"), from_sysfs("mlx5_1"), from_sysfs("mlx5_2")};
  Problems problems;
  EXPECT_TRUE(add_verbs(devices, verbs, problems));
  EXPECT_EQ(devices[0].ports[0].active_mtu, 4096);
  EXPECT_EQ(devices[0].ports[0].entries->at(0).index, 3);
  EXPECT_EQ(devices[1].ports[0].entries->at(0).index, 7);
  EXPECT_EQ(devices[2].ports[0].entries->at(0).index, 3);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("ibv_query_gid_table"), HasSubstr("ibv_query_port"),
                                    HasSubstr("mlx5_2: libibverbs does not list")));
  for (const auto& [name, each] : verbs.devices) EXPECT_EQ(each.opened, each.closed) << name;
}

// Linux 6.1 prints SDR for XDR and hands NDR to verbs, because the field ends there.
TEST(AddVerbs, NdrWhereSysfsSaysSdrIsNotBelieved) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].ports[1] = {4, 1, 5, 128, 2, 8};
  RdmaDevice device = from_sysfs("mlx5_0");
  device.ports[0].sdr_rate_gbps = 10;
  add(device, verbs);
  EXPECT_EQ(device.ports[0].rate_gbps, std::nullopt);
  verbs.devices["mlx5_0"].ports[1].active_speed = 1;  // a soft device that really has it
  add(device, verbs);
  EXPECT_EQ(device.ports[0].rate_gbps, 10);
}

TEST(AddVerbs, StrangeNumbersTellNothing) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].ports[1] = {77, 9, 0, 3, 3, -1};
  verbs.devices["mlx5_0"].rows = {row(1, 0, "fe80::1", 9, 0), row(1, -4, "fe80::2", 2, 1),
                                  row(1, 2, "::", 2, 1)};
  RdmaDevice device = from_sysfs("mlx5_0");
  add(device, verbs);
  EXPECT_EQ(device.ports[0].state, PortState::Active);
  EXPECT_EQ(device.ports[0].active_mtu, std::nullopt);
  EXPECT_EQ(device.ports[0].rate_gbps, std::nullopt);
  ASSERT_EQ(device.ports[0].entries->size(), 1u);
  EXPECT_EQ(device.ports[0].entries->at(0).type, std::nullopt);
  EXPECT_EQ(device.ports[0].entries->at(0).ifindex, std::nullopt);
}

}  // namespace
}  // namespace nccl_env::node::verbs_rows_test
