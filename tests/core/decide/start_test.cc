// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/start.h"

#include <gmock/gmock.h>

#include "core/builders.h"

namespace nccl_env::start_test {
namespace {

using ::testing::IsEmpty;
using tests::kNow;

// A pod with a macvlan on each of two HCAs: of their tables only its own rows are there.
NodeFabric pod() {
  NodeFabric table = tests::rails(2);
  table.name = "pod";
  for (Port& port : table.ports) {
    auto& rows = *port.gids;
    for (GidRow& row : rows) row.index += 4;
  }
  table.interfaces = std::vector<Interface>{tests::interface("eth0", "10.244.1.7", 24),
                                            tests::interface("eth1", "25.11.1.2", 24),
                                            tests::interface("eth2", "25.11.2.2", 24)};
  table.node_interface = "eth0";
  return table;
}

// "NCCL_IB_HCA==mlx5_1 NCCL_SOCKET_IFNAME: InterfaceAbsent"
std::string said(const Resolution& resolution) {
  std::string text;
  for (const auto& [name, value] : resolution.values) text += " " + name + "=" + value;
  for (const Value& one : resolution.omitted)
    text += " " + one.name + ": " + std::string(to_string(*one.reason));
  return text.empty() ? text : text.substr(1);
}

TEST(Resolve, WhatThePodItselfShows) {
  const NcclPolicy plain = tests::policy_for("rdma/hca");
  NodeFabric no_address = pod(), infiniband;
  for (Port& port : no_address.ports) port.gids->clear();  // none of the pod on any HCA
  infiniband.ports = {tests::ib_port("mlx5_0"), tests::ib_port("mlx5_1")};
  NcclPolicy of_node = plain, there = plain, absent = plain, eight = plain, constants = plain;
  of_node.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  there.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  absent.socket_interface = {SocketInterfaceRule::Kind::Literal, "ens3"};
  eight.fabric.expect_ports = 8;
  constants.env["NCCL_IB_TIMEOUT"] = "22";
  constants.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  constants.gid_index = {GidIndexRule::Kind::Literal, 5};
  struct Row {
    const NcclPolicy& policy;
    const NodeFabric& table;
    bool host_network, complete, rails;
    std::string rest;  // behind the values of the two rails, if it has them
  };
  const NodeFabric own = pod();
  for (const Row& row : {
           Row{plain, own, false, true, true, ""},
           Row{plain, no_address, false, false, false,
               "NCCL_IB_HCA: NoFabricPort NCCL_IB_GID_INDEX: NoFabricPort"},
           Row{plain, infiniband, false, true, false,
               "NCCL_IB_HCA==mlx5_0,mlx5_1 NCCL_IB_GID_INDEX: InfiniBand"},
           Row{of_node, own, false, true, true,
               " NCCL_SOCKET_IFNAME: OmittedByPolicy"},  // the node's is not its own
           Row{of_node, own, true, true, true, " NCCL_SOCKET_IFNAME==eth0"},
           Row{there, own, false, true, true, " NCCL_SOCKET_IFNAME=eth0"},
           Row{absent, own, false, false, true, " NCCL_SOCKET_IFNAME: InterfaceAbsent"},
           Row{eight, own, false, true, true, ""},  // a pod may have fewer ports than its node
           Row{eight, own, true, false, false, "NCCL_IB_HCA: TooFewPorts NCCL_IB_GID_INDEX: TooFewPorts"},
           Row{constants, own, false, true, false,
               "NCCL_IB_GID_INDEX=5 NCCL_IB_HCA==mlx5_1 NCCL_IB_TIMEOUT=22"},
       }) {
    SCOPED_TRACE(row.rest);
    const std::string rails = "NCCL_IB_GID_INDEX=7 NCCL_IB_HCA==mlx5_1,mlx5_2";
    const Resolution found = resolve_in_pod(row.policy, row.table, row.host_network, kNow);
    EXPECT_EQ(said(found), (row.rails ? rails : "") + row.rest);
    EXPECT_EQ(found.complete, row.complete);
  }
  constants.mode = PolicyMode::DryRun;
  EXPECT_THAT(resolve_in_pod(constants, own, false, kNow).values, IsEmpty());
  EXPECT_EQ(resolve_in_pod(constants, own, false, kNow).omitted.front().reason, Reason::DryRun);
}

TEST(Resolve, IsToldInPrintableLinesAndToExplainInLinesOfJson) {
  Resolution resolution;
  resolution.values = {{"NCCL_IB_HCA", "=mlx5_1"}};
  resolution.omitted = {left_out("NCCL_IB_GID_INDEX", Reason::GidNotUniform, "no\n\"index\"")};
  EXPECT_EQ(render_text(resolution), "NCCL_IB_HCA==mlx5_1\nNCCL_IB_GID_INDEX: GidNotUniform: no?\"index\"\n");
  resolution.unread = {"mlx5_2 ports/1/state"};
  EXPECT_EQ(
      render_message(resolution),
      "{\"v\":1}\n"
      "{\"set\":\"NCCL_IB_HCA\",\"to\":\"=mlx5_1\"}\n"
      "{\"omitted\":\"NCCL_IB_GID_INDEX\",\"reason\":\"GidNotUniform\",\"detail\":\"no?\\\"index\\\"\"}\n"
      "{\"unread\":\"mlx5_2 ports/1/state\"}\n");
}

}  // namespace
}  // namespace nccl_env::start_test
