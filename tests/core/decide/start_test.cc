// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/start.h"

#include <gmock/gmock.h>

#include "core/builders.h"

namespace nccl_env::start_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
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

std::vector<std::pair<std::string, Reason>> omitted(const Resolution& resolution) {
  std::vector<std::pair<std::string, Reason>> found;
  for (const Value& omission : resolution.omitted) found.emplace_back(omission.name, *omission.reason);
  return found;
}

TEST(Resolve, WhatThePodItselfShows) {
  const Resolution resolution = resolve_in_pod(tests::policy_for("rdma/hca"), pod(), false, kNow);
  EXPECT_THAT(resolution.values,
              ElementsAre(Pair("NCCL_IB_GID_INDEX", "7"), Pair("NCCL_IB_HCA", "=mlx5_1,mlx5_2")));
  EXPECT_THAT(resolution.omitted, IsEmpty());
  EXPECT_TRUE(resolution.complete);
}

TEST(Resolve, NothingCertainGivesNothing) {
  NodeFabric table = pod();
  for (Port& port : table.ports) port.gids->clear();  // no address of the pod on any HCA
  const Resolution resolution = resolve_in_pod(tests::policy_for("rdma/hca"), table, false, kNow);
  EXPECT_THAT(resolution.values, IsEmpty());
  EXPECT_THAT(omitted(resolution), UnorderedElementsAre(Pair("NCCL_IB_HCA", Reason::NoFabricPort),
                                                        Pair("NCCL_IB_GID_INDEX", Reason::NoFabricPort)));
  EXPECT_FALSE(resolution.complete);
}

TEST(Resolve, InfiniBandNeedsNoIndexAndIsComplete) {
  NodeFabric table;
  table.ports = {tests::ib_port("mlx5_0"), tests::ib_port("mlx5_1")};
  const Resolution resolution = resolve_in_pod(tests::policy_for("rdma/hca"), table, false, kNow);
  EXPECT_THAT(resolution.values, ElementsAre(Pair("NCCL_IB_HCA", "=mlx5_0,mlx5_1")));
  EXPECT_THAT(omitted(resolution), ElementsAre(Pair("NCCL_IB_GID_INDEX", Reason::InfiniBand)));
  EXPECT_TRUE(resolution.complete);
}

TEST(Resolve, TheNodesInterfaceIsForHostNetworkOnly) {
  NcclPolicy policy = tests::policy_for("rdma/hca");
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  const Resolution own = resolve_in_pod(policy, pod(), false, kNow);
  EXPECT_FALSE(own.values.contains("NCCL_SOCKET_IFNAME"));
  EXPECT_THAT(omitted(own), ElementsAre(Pair("NCCL_SOCKET_IFNAME", Reason::OmittedByPolicy)));
  EXPECT_TRUE(own.complete);
  EXPECT_EQ(resolve_in_pod(policy, pod(), true, kNow).values["NCCL_SOCKET_IFNAME"], "=eth0");
}

TEST(Resolve, ASocketInterfaceMustBeThere) {
  NcclPolicy policy = tests::policy_for("rdma/hca");
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  EXPECT_EQ(resolve_in_pod(policy, pod(), false, kNow).values["NCCL_SOCKET_IFNAME"], "eth0");
  policy.socket_interface.literal = "ens3";
  const Resolution resolution = resolve_in_pod(policy, pod(), false, kNow);
  EXPECT_THAT(omitted(resolution), ElementsAre(Pair("NCCL_SOCKET_IFNAME", Reason::InterfaceAbsent)));
  EXPECT_FALSE(resolution.complete);
}

TEST(Resolve, ConstantsAreInTheFile) {
  NcclPolicy policy = tests::policy_for("rdma/hca");
  policy.env["NCCL_IB_TIMEOUT"] = "22";
  policy.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  policy.gid_index = {GidIndexRule::Kind::Literal, 5};
  EXPECT_THAT(resolve_in_pod(policy, pod(), false, kNow).values,
              ElementsAre(Pair("NCCL_IB_GID_INDEX", "5"), Pair("NCCL_IB_HCA", "=mlx5_1"),
                          Pair("NCCL_IB_TIMEOUT", "22")));
}

TEST(Resolve, APodMayHaveFewerPortsThanItsNode) {
  NcclPolicy policy = tests::policy_for("rdma/hca");
  policy.fabric.expect_ports = 8;
  EXPECT_EQ(resolve_in_pod(policy, pod(), false, kNow).values["NCCL_IB_HCA"], "=mlx5_1,mlx5_2");
  EXPECT_THAT(omitted(resolve_in_pod(policy, pod(), true, kNow)),
              UnorderedElementsAre(Pair("NCCL_IB_HCA", Reason::TooFewPorts),
                                   Pair("NCCL_IB_GID_INDEX", Reason::TooFewPorts)));
}

TEST(Resolve, DryRunWritesNothing) {
  NcclPolicy policy = tests::policy_for("rdma/hca");
  policy.mode = PolicyMode::DryRun;
  policy.env["NCCL_IB_TIMEOUT"] = "22";
  const Resolution resolution = resolve_in_pod(policy, pod(), false, kNow);
  EXPECT_THAT(resolution.values, IsEmpty());
  EXPECT_EQ(resolution.omitted.front().reason, Reason::DryRun);
}

TEST(Resolve, IsToldInPrintableLines) {
  Resolution resolution;
  resolution.values = {{"NCCL_IB_HCA", "=mlx5_1"}};
  resolution.omitted = {left_out("NCCL_IB_GID_INDEX", Reason::GidNotUniform, "no\nindex")};
  EXPECT_EQ(render_text(resolution), "NCCL_IB_HCA==mlx5_1\nNCCL_IB_GID_INDEX: GidNotUniform: no?index\n");
}

TEST(Resolve, IsToldToExplainInLinesOfJson) {
  Resolution resolution;
  resolution.values = {{"NCCL_IB_HCA", "=mlx5_1"}};
  resolution.omitted = {left_out("NCCL_IB_GID_INDEX", Reason::GidNotUniform, "no\n\"index\"")};
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
