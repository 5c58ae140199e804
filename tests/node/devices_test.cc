// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/devices.h"

#include "node/sysfs_tree.h"
#include "support/matchers.h"

namespace nccl_env::node::devices_test {
namespace {

using namespace nccl_env::tests;

std::vector<RdmaDevice> read(const SysfsTree& tree) {
  Problems problems;
  auto devices = read_devices(tree, problems);
  EXPECT_THAT(problems, IsEmpty());
  return devices;
}

SysfsTree one_hca() {
  SysfsTree tree;
  tests::add_hca(tree,
                 {.name = "mlx5_1", .netdev = "eth1", .rows = tests::usual_tree_rows("25.11.128.2", "eth1")});
  return tree;
}

TEST(Devices, WhatConnectXShows) {
  const auto devices = read(one_hca());
  ASSERT_EQ(devices.size(), 1u);
  const RdmaDevice& device = devices[0];
  EXPECT_EQ(device.shared.hca, "mlx5_1");
  EXPECT_EQ(device.shared.driver, "mlx5_core");
  EXPECT_EQ(device.shared.pci_address, "0000:53:00.0");
  EXPECT_EQ(device.shared.pf_pci_address, "");
  EXPECT_EQ(device.shared.numa_node, 0);
  EXPECT_EQ(device.shared.board_id, "MT_0000000223");
  EXPECT_EQ(device.shared.sys_image_guid, "b83f:d203:00b4:f5a2");
  ASSERT_EQ(device.netdevs.size(), 1u);
  EXPECT_EQ(device.netdevs[0].name, "eth1");
  ASSERT_EQ(device.ports.size(), 1u);
  const DevicePort& port = device.ports[0];
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(port.rate_gbps, 200);
  EXPECT_EQ(port.gid_table_length, 8);
  ASSERT_EQ(port.entries->size(), 4u);
  EXPECT_EQ((*port.entries)[2].type, GidType::RoCEv1);
  EXPECT_EQ((*port.entries)[3].type, GidType::RoCEv2);
  EXPECT_EQ((*port.entries)[3].netdev, "eth1");
}

TEST(Devices, OneWithoutAUverbsDeviceIsUnavailableWhereOthersHaveOne) {
  SysfsTree tree = one_hca();
  tests::add_hca(tree, {.name = "smi1", .link_layer = "InfiniBand"});
  const auto unavailable = [&](std::size_t device) { return read(tree)[device].ports[0].unavailable; };
  EXPECT_EQ(unavailable(1), std::nullopt) << "nothing tells of any";
  tree.file("class/infiniband_verbs/uverbs0/ibdev", "mlx5_1");
  EXPECT_EQ(unavailable(0), std::nullopt);
  EXPECT_EQ(unavailable(1), Unavailable::NoVerbs);
}

TEST(Devices, NoRdmaInTheKernelIsNoProblem) {
  EXPECT_THAT(read(SysfsTree()), IsEmpty());
}

TEST(Devices, AVfNamesItsPf) {
  SysfsTree tree = one_hca();
  tree.link("devices/pci0000:50/0000:53:00.0/physfn", "devices/pci0000:50/0000:50:00.0");
  tree.file("devices/pci0000:50/0000:50:00.0/numa_node", "1");
  EXPECT_EQ(read(tree)[0].shared.pf_pci_address, "0000:50:00.0");
  // In a virtual machine a VF has no physfn, so its absence tells nothing.
  tree = one_hca();
  tree.remove("devices/pci0000:50/0000:53:00.0/sriov_totalvfs");
  EXPECT_EQ(read(tree)[0].shared.pf_pci_address, std::nullopt);
}

TEST(Devices, AFactIsReadInItsFieldsForm) {
  SysfsTree tree = one_hca();
  const std::string device = "class/infiniband/mlx5_1/";
  tree.file(device + "sys_image_guid", "B83F:d203:00b4:f5a2").file(device + "board_id", "a\x7f");
  EXPECT_EQ(read(tree)[0].shared.sys_image_guid, "b83f:d203:00b4:f5a2");
  EXPECT_EQ(read(tree)[0].shared.board_id, std::nullopt);
  tree.file(device + "sys_image_guid", "0000:0000:0000:0000");
  EXPECT_EQ(read(tree)[0].shared.sys_image_guid, std::nullopt) << "zeros stand for none";
  for (const char* numa_node : {"1024", "-1"}) {
    tree.file(device + "device/numa_node", numa_node);
    EXPECT_EQ(read(tree)[0].shared.numa_node, std::nullopt) << numa_node;
  }
}

// Absent is never 0: without MLNX_OFED there is no such file.
TEST(Devices, ATrafficClassIsThatOfAllPackets) {
  SysfsTree tree = one_hca();
  const auto traffic_class = [&] { return read(tree)[0].ports[0].traffic_class; };
  EXPECT_EQ(traffic_class(), std::nullopt);
  for (const auto& [text, expected] : std::vector<std::pair<const char*, std::optional<int>>>{
           {"Global tclass=106", 106},
           {"Global tclass=0\n", 0},
           {"Global tclass=106\nsrc_ip=10.0.0.1,tclass=8", 106},
           {"", -1},
           {"src_ip=10.0.0.1,tclass=8", std::nullopt},
           {"Global tclass=256", std::nullopt},
           {"Global tclass=-1", std::nullopt},
           {"Global tclass=", std::nullopt},
           {"106", std::nullopt}}) {
    tree.file("class/infiniband/mlx5_1/tc/1/traffic_class", text);
    EXPECT_EQ(traffic_class(), expected) << text;
  }
}

TEST(Devices, SoftDevicesHaveNoParent) {
  SysfsTree tree;
  tree.link("class/infiniband/myroce", "devices/virtual/infiniband/myroce");
  tree.file("class/infiniband/myroce/parent", "eth0").file("class/infiniband/myroce/node_type", "1: CA");
  tests::add_port(tree, {.name = "myroce", .rate = "2.5 Gb/sec (1X SDR)"}, 1);
  const RdmaDevice device = read(tree)[0];
  EXPECT_EQ(device.shared.driver, "rxe");
  EXPECT_EQ(device.shared.pci_address, std::nullopt);
  EXPECT_EQ(device.netdevs[0].name, "eth0");
  EXPECT_EQ(device.ports[0].rate_gbps, std::nullopt);
  EXPECT_EQ(device.ports[0].sdr_rate_gbps, 2.5);
  tree.file("class/infiniband/myroce/node_desc", "Software iWARP stack");
  EXPECT_EQ(read(tree)[0].shared.driver, "siw");
}

TEST(Devices, TypesOfInfiniBandAndIWarpRowsAreIb) {
  SysfsTree tree;
  tests::add_hca(tree, {.name = "ib0",
                        .link_layer = "InfiniBand",
                        .rows = {{0, "fe80::b83f:d203:b4:f5a2", "IB/RoCE v1", ""}}});
  tests::add_hca(tree, {.name = "siw0",
                        .pci = "0000:54:00.0",
                        .node_type = "4: RNIC",
                        .rows = {{0, "5254:ff:fe00:10::", "IB/RoCE v1", ""}}});
  const auto devices = read(tree);
  EXPECT_EQ(devices[0].ports[0].entries->at(0).type, GidType::IB);
  EXPECT_EQ(devices[1].ports[0].entries->at(0).type, GidType::IB);
  EXPECT_EQ(devices[1].node_type, 4);
}

TEST(Devices, OfAPartitionTableTheEntriesInUseAreKept) {
  SysfsTree tree;
  tests::add_hca(tree, {.name = "mlx5_0", .link_layer = "InfiniBand"});
  tests::add_hca(tree, {.name = "mlx5_1", .pci = "0000:54:00.0"});
  for (const std::string name : {"mlx5_0", "mlx5_1"}) {
    const std::string table = "class/infiniband/" + name + "/ports/1/pkeys/";
    for (int index = 0; index < 200; ++index) tree.file(table + std::to_string(index), "0x0000");
    tree.file(table + "0", "0x7fff").file(table + "5", "0x8001").file(table + "6", "0x8000");
    tree.file(table + "128", "0x8002");  // beyond what a table holds
  }
  const auto devices = read(tree);
  const auto& keys = *devices[0].ports[0].pkeys;
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].key, 0x7fff);
  EXPECT_EQ(keys[1].index, 5);
  EXPECT_EQ(keys[1].key, 0x8001);
  EXPECT_FALSE(devices[1].ports[0].pkeys) << "RoCE has no partitions";
}

TEST(Devices, APartitionTableThatIsNotReadIsNotKnown) {
  SysfsTree tree;
  tests::add_hca(tree, {.name = "mlx5_0", .link_layer = "InfiniBand"});
  EXPECT_FALSE(read(tree)[0].ports[0].pkeys);
  tree.file("class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff");
  tree.file("class/infiniband/mlx5_0/ports/1/pkeys/1", "what");
  Problems problems;
  EXPECT_FALSE(read_devices(tree, problems)[0].ports[0].pkeys);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("pkeys/1: 'what' is not understood")));
}

// nccl#1573: the kernel answers EINVAL for rows of other namespaces.
TEST(Devices, WhatTheKernelRefusesOfARowIsNotKnown) {
  SysfsTree tree = one_hca();
  const std::string port = "class/infiniband/mlx5_1/ports/1/";
  tree.invalid = {port + "gid_attrs/types/2", port + "gid_attrs/ndevs/2"};
  const auto rows = *read(tree)[0].ports[0].entries;
  EXPECT_EQ(rows[2].type, std::nullopt);
  EXPECT_EQ(rows[2].netdev, std::nullopt);
  EXPECT_EQ(rows[3].type, GidType::RoCEv2);
  tree.invalid = {port + "link_layer"};
  Problems problems;
  const auto of_no_layer = *read_devices(tree, problems)[0].ports[0].entries;
  EXPECT_EQ(of_no_layer[2].type, std::nullopt) << "the word for the first type stands for two";
  EXPECT_EQ(of_no_layer[3].type, GidType::RoCEv2);

  SysfsTree empty;
  tests::add_hca(empty, {.name = "mlx5_1", .table_length = 2});
  EXPECT_EQ(read(empty)[0].ports[0].entries->size(), 0u);
  empty.invalid = {port + "gids/1"};
  EXPECT_FALSE(read_devices(empty, problems)[0].ports[0].entries.has_value());
}

TEST(Devices, OneBrokenDeviceHidesNoOther) {
  SysfsTree tree = one_hca();
  tests::add_hca(
      tree, {.name = "mlx5_2", .pci = "0000:54:00.0", .link_layer = "Fibre", .state = "up", .rate = "fast"});
  tree.file("class/infiniband/mlx5_2/ports/1/gids/3", "no gid");
  tree.file("class/infiniband/mlx5_2/ports/x/state", "4: ACTIVE");
  Problems problems;
  const auto devices = read_devices(tree, problems);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].ports[0].state, PortState::Active);
  ASSERT_EQ(devices[1].ports.size(), 1u);
  EXPECT_EQ(devices[1].ports[0].state, std::nullopt);
  EXPECT_EQ(devices[1].ports[0].link_layer, std::nullopt);
  EXPECT_EQ(devices[1].ports[0].rate_gbps, std::nullopt);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_THAT(problems[0], HasSubstr("mlx5_2 ports/1/link_layer"));
  EXPECT_THAT(problems[1], HasSubstr("mlx5_2 ports/1/state"));
  EXPECT_THAT(problems[2], HasSubstr("mlx5_2 ports/1/gids/3"));
}

// Links can make a copy endless: one device under many names, each with the same ports.
TEST(Devices, OfACopyNoMoreIsReadThanATableHolds) {
  for (const bool junk : {false, true}) {
    SysfsTree tree;
    for (int device = 0; device < 5; ++device) {
      tests::TreeHca hca{.name = "mlx5_" + std::to_string(device), .table_length = 64};
      for (int row = 0; row < 64; ++row)
        hca.rows.push_back({row, "fe80::" + std::to_string(row + 1), "", ""});
      tests::add_hca(tree, hca);
      for (int port = 2; port <= 64; ++port) tests::add_port(tree, hca, port);
      for (int file = 0; junk && file < 64 * 64; ++file) {
        tree.file("class/infiniband/" + hca.name + "/ports/" + std::to_string(file / 64 + 1) + "/gids/" +
                      std::to_string(file % 64),
                  "junk");
      }
    }
    std::size_t reads = 0, ports = 0, rows = 0;
    tree.on_read = [&](const std::string&) { ++reads; };
    Problems problems;
    for (const RdmaDevice& device : read_devices(tree, problems, true)) {
      ports += device.ports.size();
      for (const DevicePort& port : device.ports) rows += port.entries ? port.entries->size() : 0;
    }
    EXPECT_EQ(ports, 256u);
    EXPECT_EQ(rows, junk ? 0u : 4096u);
    EXPECT_LT(reads, 20'000u);
    EXPECT_EQ(problems.size(), 100u);
    if (junk) continue;
    EXPECT_EQ(read_devices(tree, problems).size(), 5u) << "a node's are all read: a table prefers some";
  }
}

TEST(Devices, NamesThatNoListCouldHoldAreLeftOut) {
  SysfsTree tree = one_hca();
  tree.file("class/infiniband/a,b/node_type", "1: CA");
  Problems problems;
  EXPECT_EQ(read_devices(tree, problems).size(), 1u);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("'a,b'")));
}

// At whatever moment it goes, the other device is complete and nothing crashes.
TEST(Devices, ADeviceMayVanishAtAnyMoment) {
  int reads = 0, last = 0;
  for (int moment = 0; moment <= last; ++moment) {  // at 0 it stays, and the reads are counted
    SCOPED_TRACE(moment);
    SysfsTree tree = one_hca();
    tests::add_hca(
        tree,
        {.name = "mlx5_0", .pci = "0000:54:00.0", .rows = tests::usual_tree_rows("25.11.128.34", "eth2")});
    reads = 0;
    tree.on_read = [&](const std::string&) {
      if (++reads == moment) tree.remove("devices/pci0000:50/0000:54:00.0");
    };
    Problems problems;
    const auto devices = read_devices(tree, problems);
    ASSERT_FALSE(devices.empty());
    EXPECT_EQ(devices.back().shared.hca, "mlx5_1");
    EXPECT_EQ(devices.back().ports.at(0).entries->size(), 4u);
    if (moment == 0) last = reads;
  }
  ASSERT_GT(last, 20);
}

TEST(Devices, TwoPortsOfOneDevice) {
  SysfsTree tree = one_hca();
  tests::add_port(tree, {.name = "mlx5_1", .state = "1: DOWN"}, 2);
  const auto devices = read(tree);
  ASSERT_EQ(devices[0].ports.size(), 2u);
  EXPECT_EQ(devices[0].ports[0].number, 1);
  EXPECT_EQ(devices[0].ports[1].number, 2);
  EXPECT_EQ(devices[0].ports[1].state, PortState::Down);
}

}  // namespace
}  // namespace nccl_env::node::devices_test
