// SPDX-License-Identifier: Apache-2.0
// No driver of Debian's kernel that needs no card has DCB, so its answers are made here, of the kernel's own
// structs in the order of dcbnl_ieee_fill (Linux, net/dcb/dcbnl.c).
#include "dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <map>

#include "node/scripted_kernel.h"

namespace nccl_env::node::dcb_test {
namespace {

template <class Struct>
std::string text_of(const Struct& from) {
  return {reinterpret_cast<const char*>(&from), sizeof from};
}

std::string attribute(unsigned type, const std::string& content) {
  const nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + content.size()),
                      static_cast<std::uint16_t>(type)};
  return text_of(header) + content + std::string((4 - content.size() % 4) % 4, '\0');
}

std::string entry(int selector, int priority, int protocol) {
  return attribute(DCB_ATTR_IEEE_APP,
                   text_of(dcb_app{static_cast<std::uint8_t>(selector), static_cast<std::uint8_t>(priority),
                                   static_cast<std::uint16_t>(protocol)}));
}
std::string dscp(int number, int priority) {
  return entry(IEEE_8021QAZ_APP_SEL_DSCP, priority, number);
}

std::string answer(unsigned enabled, const std::string& entries) {
  ieee_ets ets{};
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = static_cast<std::uint8_t>(enabled);
  return text_of(dcbmsg{AF_UNSPEC, DCB_CMD_IEEE_GET, 0}) +
         attribute(DCB_ATTR_IFNAME, std::string("eth1\0", 5)) +
         attribute(DCB_ATTR_IEEE, attribute(DCB_ATTR_IEEE_ETS, text_of(ets)) +
                                      attribute(DCB_ATTR_IEEE_PFC, text_of(pfc)) +
                                      attribute(DCB_ATTR_IEEE_APP_TABLE, entries)) +
         attribute(DCB_ATTR_DCBX, "\x09");
}

Port roce_port() {
  Port port;
  port.hca = "mlx5_1";
  port.netdev = "eth1";
  port.transport = Transport::RoCE;
  return port;
}

Port read_from(const std::string& payload, std::uint16_t type = RTM_GETDCB) {
  tests::ScriptedKernel kernel;
  kernel.add(1, type, NLM_F_REQUEST, payload).say();
  Port port = roce_port();
  read_dcb(kernel.netlink(), port);
  return port;
}

std::string map_of(const std::map<std::size_t, char>& known) {
  std::string map(64, '-');
  for (const auto& [number, priority] : known) map[number] = priority;
  return map;
}

TEST(Dcb, TellsPrioritiesWithFlowControlAndThoseOfDscps) {
  const Port port = read_from(answer(0x28, dscp(0, 0) + dscp(26, 3) + dscp(63, 7)));
  EXPECT_EQ(port.lossless_priorities, "35");
  EXPECT_EQ(port.dscp_priorities, map_of({{0, '0'}, {26, '3'}, {63, '7'}}));
}

TEST(Dcb, WithoutEntriesForDscpsNoneIsTrusted) {
  const Port port = read_from(answer(0, entry(IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 0x8915)));
  EXPECT_EQ(port.lossless_priorities, "");
  EXPECT_EQ(port.dscp_priorities, "");
}

TEST(Dcb, ADscpWithTwoPrioritiesOrAnImpossibleOneIsNotKnown) {
  const std::string entries = dscp(26, 3) + dscp(26, 4) + dscp(26, 3) + dscp(48, 6) + dscp(48, 6) +
                              dscp(8, 8) + dscp(64, 1) + dscp(65535, 1) +
                              attribute(DCB_ATTR_IEEE_APP, "\x05") + attribute(99, "abcd");
  EXPECT_EQ(read_from(answer(8, entries)).dscp_priorities, map_of({{48, '6'}}));
}

TEST(Dcb, IsAskedForByName) {
  tests::ScriptedKernel kernel;
  kernel.add(1, RTM_GETDCB, NLM_F_REQUEST, answer(8, "")).say();
  Port port = roce_port();
  read_dcb(kernel.netlink(), port);
  EXPECT_EQ(kernel.asked(), std::pair(std::uint16_t{RTM_GETDCB},
                                      text_of(dcbmsg{AF_UNSPEC, DCB_CMD_IEEE_GET, 0}) +
                                          attribute(DCB_ATTR_IFNAME, "eth1" + std::string(12, '\0'))));
}

// A bond, VLAN or virtual function; an answer of another kind; InfiniBand and a port without interface, of
// which nothing is asked.
TEST(Dcb, WhatIsNotToldIsNotKnown) {
  const int refused = -EOPNOTSUPP;
  Port infiniband = roce_port(), without = roce_port();
  infiniband.transport = Transport::InfiniBand;
  without.netdev.reset();
  tests::ScriptedKernel kernel;
  for (Port* port : {&infiniband, &without}) read_dcb(kernel.netlink(), *port);
  EXPECT_EQ(kernel.asked().second, "");
  std::string other = answer(8, dscp(26, 3));
  other[1] = DCB_CMD_GSTATE;
  for (const Port& port : {read_from(text_of(refused) + std::string(16, '\0'), NLMSG_ERROR), read_from(other),
                           read_from(answer(8, ""), RTM_SETDCB), read_from(""), infiniband, without}) {
    EXPECT_EQ(port.lossless_priorities, std::nullopt);
    EXPECT_EQ(port.dscp_priorities, std::nullopt);
  }
}

// Nothing that the whole answer does not say.
TEST(Dcb, AnAnswerMayEndAnywhere) {
  const std::string whole = answer(8, dscp(26, 3) + dscp(48, 6));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Port port = read_from(whole.substr(0, size));
    EXPECT_EQ(port.lossless_priorities.value_or("3"), "3") << size;
    for (const auto& [number, priority] : std::map<std::size_t, char>{{26, '3'}, {48, '6'}}) {
      const std::string map = port.dscp_priorities.value_or("");
      EXPECT_TRUE(map.empty() || map[number] == priority || map[number] == '-') << size;
    }
  }
}

}  // namespace
}  // namespace nccl_env::node::dcb_test
