// SPDX-License-Identifier: Apache-2.0
// Against the kernel of the machine that runs the tests, and copies of sysfs.
#include "nccl_env/node/netdevs.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <set>

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
  tests::SysfsTree tree;
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

}  // namespace
}  // namespace nccl_env::node::netdevs_test
