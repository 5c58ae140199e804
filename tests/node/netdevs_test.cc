// SPDX-License-Identifier: Apache-2.0
// Against the kernel of the machine that runs the tests, and copies of sysfs.
#include "nccl_env/node/netdevs.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "nccl_env/node/device_events.h"
#include "nccl_env/node/link_events.h"
#include "nccl_env/node/namespace_mode.h"
#include "netlink.h"
#include "node/sysfs_tree.h"

namespace nccl_env::node::netdevs_test {
namespace {

TEST(Netdevs, TheSameAsGetifaddrs) {
  const auto netdevs = read_netdevs();
  ASSERT_TRUE(netdevs) << netdevs.error().message;
  std::set<std::string> ours, theirs;
  for (const Netdev& netdev : netdevs->all) {
    EXPECT_EQ(netdev.index, if_nametoindex(netdev.name.c_str()));
    for (const InterfaceAddress& each : *netdev.addresses)
      ours.insert(netdev.name + " " + format_ip(each.address));
  }
  ifaddrs* list = nullptr;
  ASSERT_EQ(::getifaddrs(&list), 0);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    if (!each->ifa_addr) continue;
    char text[INET6_ADDRSTRLEN] = {};
    if (each->ifa_addr->sa_family == AF_INET)
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof text);
    if (each->ifa_addr->sa_family == AF_INET6)
      inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr, text,
                sizeof text);
    if (text[0] != '\0') theirs.insert(std::string(each->ifa_name) + " " + text);
  }
  ::freeifaddrs(list);
  EXPECT_EQ(ours, theirs);
}

TEST(Netdevs, LoopbackIsItself) {
  const auto netdevs = read_netdevs();
  ASSERT_TRUE(netdevs);
  const Netdev* lo = netdevs->find("lo");
  ASSERT_NE(lo, nullptr);
  EXPECT_EQ(lo->index, 1u);
  EXPECT_EQ(netdevs->find(1u), lo);
  EXPECT_EQ(lo->mac, std::nullopt);
  EXPECT_EQ(netdevs->find(0u), nullptr);
  EXPECT_EQ(netdevs->find("no such"), nullptr);
}

TEST(Netdevs, OfACopyOfSysfs) {
  testing::SysfsTree tree;
  tree.file("class/net/eth1/ifindex", "3")
      .file("class/net/eth1/mtu", "4200")
      .file("class/net/eth1/operstate", "up");
  tree.file("class/net/bond0/ifindex", "9").file("class/net/bond0/bonding/mode", "802.3ad 4");
  tree.file("class/net/eth2/operstate", "down");
  tree.link("class/net/eth1/master", "class/net/bond0");
  const Netdevs netdevs = read_netdevs(tree);
  EXPECT_FALSE(netdevs.live);
  ASSERT_EQ(netdevs.all.size(), 3u);
  EXPECT_EQ(netdevs.find("eth1")->master, 9u);
  EXPECT_EQ(netdevs.find("eth1")->mtu, 4200);
  EXPECT_TRUE(netdevs.find("eth1")->up);
  EXPECT_EQ(netdevs.find("bond0")->kind, "bond");
  EXPECT_FALSE(netdevs.find("eth2")->up);
  EXPECT_NE(netdevs.find("eth2")->index, 0u);
  EXPECT_EQ(netdevs.find("eth1")->addresses.has_value(), false);
}

TEST(NamespaceMode, IsKnownOrRefused) {
  const auto mode = read_namespace_mode();
  EXPECT_TRUE(mode || mode.error().message.starts_with("netlink: "));
}

TEST(LinkEvents, NothingHasHappenedYet) {
  auto events = LinkEvents::open();
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_GE((*events)->descriptor(), 0);
}

TEST(DeviceEvents, OnlyThoseOfRdmaCount) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(is_rdma_uevent(
      "remove@/devices/virtual/infiniband/rxe1\0ACTION=remove\0SUBSYSTEM=infiniband\0SEQNUM=7\0"sv));
  EXPECT_TRUE(is_rdma_uevent("add@/x\0SUBSYSTEM=infiniband_verbs"sv));
  EXPECT_FALSE(
      is_rdma_uevent("add@/devices/virtual/net/veth1\0SUBSYSTEM=net\0INTERFACE=SUBSYSTEM=infiniband\0"sv));
  for (const auto text : {""sv, "\0"sv, "\0\0\0"sv, "SUBSYSTEM=inf"sv}) EXPECT_FALSE(is_rdma_uevent(text));
}

TEST(DeviceEvents, CanBeHeardWithoutPrivilege) {
  auto events = DeviceEvents::open();
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_GE((*events)->descriptor(), 0);
}

std::vector<std::uint8_t> attribute(std::uint16_t type, std::uint16_t length, const std::string& content) {
  std::vector<std::uint8_t> bytes((4 + content.size() + 3) / 4 * 4);
  std::memcpy(bytes.data(), &length, 2);
  std::memcpy(bytes.data() + 2, &type, 2);
  std::copy(content.begin(), content.end(), bytes.begin() + 4);
  return bytes;
}

TEST(NetlinkAttributes, AreBoundsChecked) {
  auto bytes = attribute(3, 9, std::string("eth0\0", 5));
  const auto second = attribute(4, 8, std::string("\x90\x10\0\0", 4));
  bytes.insert(bytes.end(), second.begin(), second.end());
  const Attributes read(bytes);
  EXPECT_EQ(read.text(3), "eth0");
  EXPECT_EQ(read.u32(4), 4240u);
  EXPECT_EQ(read.u32(3), 0u);  // not four bytes
  EXPECT_TRUE(read.find(5).empty());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_LE(Attributes(std::span(bytes).first(size)).text(3).size(), 4u);
  for (const std::uint16_t length : {0, 3, 100}) {
    const auto wrong = attribute(3, length, "eth0");
    EXPECT_EQ(Attributes(wrong).text(3), "") << length;
  }
}

}  // namespace
}  // namespace nccl_env::node::netdevs_test
