// SPDX-License-Identifier: Apache-2.0
// ncclFindInterfaces (src/misc/socket.cc), findInterfaces and ncclOsFindInterfaces (src/os/linux.cc).
#include <gmock/gmock.h>

#include "core/nccl/nccl_fabric.h"

namespace nccl_env::test::interfaces_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

NodeFabric with(std::vector<Interface> interfaces) {
  NodeFabric table = fabric({roce("mlx5_0")});
  table.interfaces = std::move(interfaces);
  return table;
}

NcclSelection select(const NodeFabric& table, const NcclEnv& env, std::string_view at = "2.26.2") {
  return nccl_select(table, env, version(at));
}

NcclEnv ifname(const char* value) {
  return {{"NCCL_SOCKET_IFNAME", value}};
}

const NodeFabric& node() {
  static const NodeFabric table =
      with({interface("lo", {"127.0.0.1", "::1"}), interface("docker0", {"172.17.0.1"}),
            interface("virbr0", {"192.168.122.1"}), interface("eth0", {"10.0.0.1"}),
            interface("eth1", {"10.0.1.1"}), interface("eth10", {"10.0.10.1"}), interface("eth2", {})});
  return table;
}

TEST(NcclInterfaces, TheListIsMatchedLikeTheHcaList) {
  EXPECT_THAT(select(node(), ifname("=eth1")).interfaces, ElementsAre("eth1"));
  EXPECT_THAT(select(node(), ifname("eth1")).interfaces, ElementsAre("eth1", "eth10"));
  EXPECT_THAT(select(node(), ifname("=eth1,eth0")).interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(select(node(), ifname("=eth1, eth0")).interfaces, ElementsAre("eth1"));
  EXPECT_THAT(select(node(), ifname("=eth1:7")).interfaces, ElementsAre("eth1"))
      << "a port is read and ignored";
  EXPECT_THAT(select(node(), ifname("^=lo,docker0,eth1")).interfaces, ElementsAre("virbr0", "eth0", "eth10"));
}

TEST(NcclInterfaces, AValueOfOneCharacterIsUnset) {
  for (const char* value : {"e", "=", "^"}) {
    const auto selection = select(node(), ifname(value), "2.28.3");
    EXPECT_THAT(selection.interfaces, ElementsAre("eth0", "eth1", "eth10")) << value;
    EXPECT_THAT(all_notes(selection), HasSubstr("one character long and counts as unset")) << value;
  }
  EXPECT_THAT(select(node(), ifname(""), "2.28.3").interfaces, ElementsAre("eth0", "eth1", "eth10"));
}

TEST(NcclInterfaces, DefaultsByVersion) {
  EXPECT_THAT(select(node(), {}, "2.27.3").interfaces, ElementsAre("virbr0", "eth0", "eth1", "eth10"));
  EXPECT_THAT(select(node(), {}, "2.28.3").interfaces, ElementsAre("eth0", "eth1", "eth10"));
  const auto lo = interface("lo", {"127.0.0.1"});
  const auto docker = interface("docker0", {"172.17.0.1"});
  const auto virbr = interface("virbr0", {"192.168.122.1"});
  const auto ib = interface("ib0", {"10.2.0.1"});
  const auto eth = interface("eth0", {"10.0.0.1"});
  EXPECT_THAT(select(with({lo, eth, ib}), {}).interfaces, ElementsAre("ib0"));
  EXPECT_THAT(select(with({lo, docker}), {}).interfaces, ElementsAre("docker0"));
  EXPECT_THAT(select(with({lo}), {}).interfaces, ElementsAre("lo"));
  EXPECT_THAT(select(with({virbr, lo}), {}, "2.28.3").interfaces, ElementsAre("lo"));
  EXPECT_THAT(select(with({virbr}), {}, "2.28.3").interfaces, ElementsAre("virbr0"));
}

TEST(NcclInterfaces, AUsersValueReplacesTheDefaults) {
  const auto selection = select(node(), ifname("^docker0"));
  EXPECT_THAT(selection.interfaces.front(), "lo");
  EXPECT_THAT(all_notes(selection), HasSubstr("NCCL_SOCKET_IFNAME=\"^docker0\" admits lo"));
  EXPECT_THAT(all_notes(select(node(), ifname("^docker,lo"))), Not(HasSubstr("admits lo")));
  EXPECT_THAT(all_notes(select(node(), ifname("=lo"))), Not(HasSubstr("admits lo")));
}

TEST(NcclInterfaces, OnlyRunningOnesFrom2283) {
  const auto table = with({interface("eth0", {"10.0.0.1"}, false), interface("eth1", {"10.0.1.1"})});
  EXPECT_THAT(select(table, {}, "2.27.3").interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(select(table, {}, "2.28.3").interfaces, ElementsAre("eth1"));
}

TEST(NcclInterfaces, WithoutAnAddressThereIsNoInterface) {
  EXPECT_THAT(select(node(), ifname("=eth2")).interfaces, IsEmpty());
  EXPECT_THAT(select(with({interface("eth0", {"::1"})}), ifname("=eth0")).interfaces, IsEmpty());
}

TEST(NcclInterfaces, FamilyIsExactAndIpv4ComesFirst) {
  const auto table = with({interface("eth0", {"2001:db8::1"}), interface("eth1", {"10.0.1.1"}),
                           interface("eth2", {"2001:db8::2", "10.0.2.1"})});
  EXPECT_THAT(select(table, {}).interfaces, ElementsAre("eth1", "eth2", "eth0"));
  EXPECT_THAT(select(table, {{"NCCL_SOCKET_FAMILY", "AF_INET"}}).interfaces, ElementsAre("eth1", "eth2"));
  EXPECT_THAT(select(table, {{"NCCL_SOCKET_FAMILY", "AF_INET6"}}).interfaces, ElementsAre("eth0", "eth2"));
  for (const char* any : {"af_inet6", "", "AF_INET6 "}) {
    EXPECT_THAT(select(table, {{"NCCL_SOCKET_FAMILY", any}}).interfaces, ElementsAre("eth1", "eth2", "eth0"))
        << any;
  }
}

TEST(NcclInterfaces, NoMatchFailsWithTheVersionsError) {
  EXPECT_THAT(all_notes(select(node(), ifname("=eno1"), "2.23.4")),
              HasSubstr("no socket interface found, ncclInternalError"));
  EXPECT_THAT(all_notes(select(node(), ifname("=eno1"), "2.24.3")),
              HasSubstr("no socket interface found, ncclInvalidUsage"));
}

TEST(NcclInterfaces, AtMostSixteen) {
  std::vector<Interface> many;
  std::string list = "=";
  for (int i = 0; i < 20; ++i) {
    many.push_back(interface("eth" + std::to_string(i), {"10.0.0.1"}));
    list += "eth" + std::to_string(i) + ",";
  }
  EXPECT_EQ(select(with(many), {}).interfaces.size(), 16U);
  const auto selection = select(with(many), ifname(list.c_str()));
  EXPECT_EQ(selection.interfaces.back(), "eth15");
  EXPECT_THAT(all_notes(selection),
              HasSubstr("reads 16 entries of NCCL_SOCKET_IFNAME and silently ignores 4 more."));
}

TEST(NcclInterfaces, WhatIsNotKnownIsSaid) {
  NodeFabric table = fabric({roce("mlx5_0")});
  table.interfaces.reset();
  EXPECT_THAT(select(table, ifname("=eth0")).interfaces, IsEmpty());
  EXPECT_THAT(all_notes(select(table, {})), HasSubstr("interfaces are not known"));

  Interface bare;
  bare.name = "eth0";
  const auto selection = select(with({bare}), {}, "2.28.3");
  EXPECT_THAT(selection.interfaces, ElementsAre("eth0"));
  EXPECT_THAT(all_notes(selection), HasSubstr("taken as present and running: eth0."));
  EXPECT_THAT(all_notes(select(node(), {{"NCCL_COMM_ID", "10.0.0.1:5000"}})),
              HasSubstr("NCCL_COMM_ID is set"));
}

}  // namespace
}  // namespace nccl_env::test::interfaces_test
