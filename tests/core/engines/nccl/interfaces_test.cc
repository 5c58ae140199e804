// SPDX-License-Identifier: Apache-2.0
// ncclFindInterfaces (src/misc/socket.cc), findInterfaces and ncclOsFindInterfaces (src/os/linux.cc).
#include <gmock/gmock.h>

#include "core/engines/nccl/nccl_fabric.h"
#include "support/golden.h"

namespace nccl_env::test::interfaces_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeFabric with(std::vector<Interface> interfaces) {
  NodeFabric table = fabric({roce("mlx5_0")});
  table.interfaces = std::move(interfaces);
  return table;
}

NcclSelection select(const NodeFabric& table, const NcclEnv& env, std::string_view at = "2.26.2") {
  return nccl_select(table, env, version(at));
}

// The interfaces that are taken; the golden holds the notes.
std::vector<std::string> taken(const NodeFabric& table, const NcclEnv& env,
                               const std::string& at = "2.26.2") {
  std::string input = "NCCL " + at;
  for (const auto& [name, value] : env) input += " " + name + "=" + value;
  const NcclSelection selection = select(table, env, at);
  tests::expect_golden(input, all_notes(selection));
  return selection.interfaces;
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
  for (const char* value : {"e", "=", "^", ""})
    EXPECT_THAT(taken(node(), ifname(value), "2.28.3"), ElementsAre("eth0", "eth1", "eth10")) << value;
}

TEST(NcclInterfaces, DefaultsByVersion) {
  EXPECT_THAT(select(node(), {}, "2.27.3").interfaces, ElementsAre("virbr0", "eth0", "eth1", "eth10"));
  EXPECT_THAT(select(node(), {}, "2.28.3").interfaces, ElementsAre("eth0", "eth1", "eth10"));
  const auto lo = interface("lo", {"127.0.0.1"}), docker = interface("docker0", {"172.17.0.1"}),
             virbr = interface("virbr0", {"192.168.122.1"}), ib = interface("ib0", {"10.2.0.1"}),
             eth = interface("eth0", {"10.0.0.1"});
  EXPECT_THAT(select(with({lo, eth, ib}), {}).interfaces, ElementsAre("ib0"));
  EXPECT_THAT(select(with({lo, docker}), {}).interfaces, ElementsAre("docker0"));
  EXPECT_THAT(select(with({lo}), {}).interfaces, ElementsAre("lo"));
  EXPECT_THAT(select(with({virbr, lo}), {}, "2.28.3").interfaces, ElementsAre("lo"));
  EXPECT_THAT(select(with({virbr}), {}, "2.28.3").interfaces, ElementsAre("virbr0"));
  // A user's value replaces them.
  EXPECT_EQ(taken(node(), ifname("^docker0")).front(), "lo");
  EXPECT_EQ(taken(node(), ifname("^docker,lo")).front(), "virbr0");
  EXPECT_THAT(taken(node(), ifname("=lo")), ElementsAre("lo"));
  for (const char* at : {"2.23.4", "2.24.3"}) EXPECT_THAT(taken(node(), ifname("=eno1"), at), IsEmpty());
}

TEST(NcclInterfaces, NeedAnAddressAndFrom2283HaveToRun) {
  const auto table = with({interface("eth0", {"10.0.0.1"}, false), interface("eth1", {"10.0.1.1"})});
  EXPECT_THAT(select(table, {}, "2.27.3").interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(select(table, {}, "2.28.3").interfaces, ElementsAre("eth1"));
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

TEST(NcclInterfaces, AFamilyThatLeavesNoneIsTheFault) {
  const auto faults = [](const NodeFabric& table, const NcclEnv& env) {
    std::vector<NcclFault> found;
    for (const auto& [fault, text] : select(table, env).faults) found.push_back(fault);
    return found;
  };
  const auto table = with({interface("eth0", {"10.0.0.1"})});
  const NcclEnv v6{{"NCCL_SOCKET_FAMILY", "AF_INET6"}},
      both{{"NCCL_SOCKET_FAMILY", "AF_INET6"}, {"NCCL_SOCKET_IFNAME", "=eth0"}};
  EXPECT_THAT(faults(table, v6), ElementsAre(NcclFault::NoFamily));
  EXPECT_THAT(faults(table, both), ElementsAre(NcclFault::NoFamily));
  EXPECT_THAT(faults(table, {{"NCCL_SOCKET_FAMILY", "AF_INET"}}), IsEmpty());
  EXPECT_THAT(faults(table, {{"NCCL_SOCKET_FAMILY", "AF_INET6"}, {"NCCL_SOCKET_IFNAME", "=eth1"}}),
              ElementsAre(NcclFault::NoInterface));
}

TEST(NcclInterfaces, AtMostSixteen) {
  std::vector<Interface> many;
  std::string list = "=";
  for (int i = 0; i < 20; ++i) {
    many.push_back(interface("eth" + std::to_string(i), {"10.0.0.1"}));
    list += "eth" + std::to_string(i) + ",";
  }
  EXPECT_EQ(select(with(many), {}).interfaces.size(), 16U);
  EXPECT_EQ(taken(with(many), ifname(list.c_str())).back(), "eth15");
}

TEST(NcclInterfaces, WhatIsNotKnownIsSaid) {
  NodeFabric table = fabric({roce("mlx5_0")});
  table.interfaces.reset();
  EXPECT_THAT(taken(table, ifname("=eth0")), IsEmpty());
  EXPECT_THAT(taken(table, {}), IsEmpty());

  Interface bare;
  bare.name = "eth0";
  EXPECT_THAT(taken(with({bare}), {}, "2.28.3"), ElementsAre("eth0"));
  taken(node(), {{"NCCL_COMM_ID", "10.0.0.1:5000"}});
}

}  // namespace
}  // namespace nccl_env::test::interfaces_test
