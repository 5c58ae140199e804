// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/gid_index.h"

#include <gtest/gtest.h>

#include "core/builders.h"

namespace nccl_env::tests::gid_index_test {
namespace {

GidChoice choose(const NodeFabric& table, const NcclPolicy& policy = policy_for("rdma/*"),
                 Exposure exposure = Exposure::Host, Timestamp now = kNow) {
  std::vector<const Port*> ports;
  for (const Port& port : table.ports) ports.push_back(&port);
  return choose_gid(table, ports, policy, exposure, now);
}

std::vector<GidRow> v6_rows(const std::string& address, const std::string& netdev) {
  return {row(0, gid("fe80::1"), GidType::RoCEv1, netdev), row(1, gid("fe80::1"), GidType::RoCEv2, netdev),
          row(4, gid(address), GidType::RoCEv1, netdev), row(5, gid(address), GidType::RoCEv2, netdev)};
}

TEST(GidIndex, IsTheLowestThatIsUsableOnAllPorts) {
  EXPECT_EQ(choose(rails(8)).index, 3);
  NodeFabric table = rails(2);
  table.ports[0].gids = std::vector<GidRow>{row(2, v4("10.0.0.1"), GidType::RoCEv2, "eth1")};
  table.ports[1].gids = std::vector<GidRow>{row(1, v4("10.0.0.2"), GidType::RoCEv2, "eth2")};
  const GidChoice choice = choose(table);
  EXPECT_FALSE(choice.index);
  EXPECT_EQ(choice.reason, Reason::GidNotUniform);
  EXPECT_EQ(choice.detail, "No index is usable on every port: mlx5_1 has 2, mlx5_2 has 1.");
}

TEST(GidIndex, OneFamilyForAllPortsOrNone) {
  NodeFabric table = rails(2);
  table.ports[1].gids = v6_rows("fd00:1::2", "eth2");
  EXPECT_EQ(choose(table).reason, Reason::GidNotUniform);
  EXPECT_FALSE(choose(table).ipv6);
  table.ports[0].gids = v6_rows("fd00:1::1", "eth1");
  EXPECT_EQ(choose(table).index, 5);
  EXPECT_TRUE(choose(table).ipv6);
}

TEST(GidIndex, IsNotKnownOfUnknownRowsAndNoneOfPortsWithoutThem) {
  NodeFabric table = rails(2);
  table.ports[1].gids.reset();
  EXPECT_EQ(choose(table).reason, Reason::GidTableUnknown) << "of one port";
  table = rails(1);
  for (GidRow& entry : *table.ports[0].gids) entry.type.reset();
  EXPECT_EQ(choose(table).reason, Reason::GidTableUnknown) << "of unknown type";
  table = rails(1);
  table.ports[0].transport = Transport::eRDMA;
  table.ports[0].gids->clear();
  EXPECT_EQ(choose(table).reason, Reason::GidNotUniform) << "eRDMA without v2 rows";
  table.ports = {ib_port("mlx5_0")};
  EXPECT_EQ(choose(table).reason, Reason::InfiniBand);
}

TEST(GidIndex, AFamilyThatThePolicyFixesNarrowsTheRows) {
  NodeFabric table = rails(1);
  for (const GidRow& entry : v6_rows("fd00::1", "eth1")) {
    if (entry.index > 3) table.ports[0].gids->push_back(entry);
  }
  NcclPolicy policy = policy_for("rdma/*");
  EXPECT_EQ(choose(table, policy).index, 3);
  policy.env["NCCL_IB_ADDR_FAMILY"] = "AF_INET6";
  EXPECT_EQ(choose(table, policy).index, 5);
}

NcclPolicy auto_policy(const char* version) {
  NcclPolicy policy = policy_for("rdma/*");
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  if (*version) policy.min_nccl = *parse_nccl_version(version);
  return policy;
}

// Index 2 is a row that NCCL takes for a good one and that carries no traffic; 3 is the right one.
NodeFabric misleading(int count) {
  NodeFabric table = rails(count);
  for (Port& port : table.ports) (*port.gids)[2] = row(2, v4("169.254.3.4"), GidType::RoCEv2, "eth1");
  return table;
}

TEST(GidIndex, AutoPinsWhereNcclsOwnSearchWouldMissTheRow) {
  EXPECT_EQ(choose(rails(2), auto_policy("2.20.5")).index, 3);
  for (const char* version : {"", "2.21", "2.21.5", "2.26.2", "2.40.1"}) {
    const GidChoice searched = choose(rails(2), auto_policy(version));
    EXPECT_FALSE(searched.index) << version;
    EXPECT_EQ(searched.reason, Reason::OmittedByPolicy);
    EXPECT_EQ(choose(misleading(2), auto_policy(version)).index, 3) << version;
  }
}

TEST(GidIndex, AutoLooksAtTheOldestVersionAndAtTheNewest) {
  // Without row 0 NCCL up to 2.25 reads the type of an empty row, and the connection fails.
  NodeFabric table = rails(1);
  table.ports[0].gids = std::vector<GidRow>{row(5, gid("fd00::1"), GidType::RoCEv2, "eth1")};
  EXPECT_EQ(choose(table, auto_policy("2.21.5")).index, 5);
  EXPECT_EQ(choose(table, auto_policy("2.26.2")).reason, Reason::OmittedByPolicy);
}

TEST(GidIndex, AutoPinsInAPodWhoseRowsLieAmongThoseOfOthers) {
  NodeFabric table = rails(1);
  EXPECT_EQ(choose(table, auto_policy("2.26.2"), Exposure::PodOwned).reason, Reason::OmittedByPolicy)
      << "a function of its own: all rows are the pod's";
  table.ports[0].gids = std::vector<GidRow>{row(6, v4("10.0.0.7"), GidType::RoCEv1, "net1"),
                                            row(7, v4("10.0.0.7"), GidType::RoCEv2, "net1")};
  EXPECT_EQ(choose(table, auto_policy("2.26.2"), Exposure::PodOwned).index, 7);
  EXPECT_EQ(choose(table, auto_policy("2.26.2")).reason, Reason::OmittedByPolicy)
      << "a node's own gaps are empty";
}

TEST(GidIndex, AnIndexThatMovedWithinADayIsNotPinned) {
  NodeFabric table = rails(2);
  const Timestamp moved = kNow - std::chrono::hours(23);
  table.ports[1].gids->back().index_since = moved;
  const GidChoice choice = choose(table);
  EXPECT_FALSE(choice.index);
  EXPECT_EQ(choice.reason, Reason::GidUnstable);
  EXPECT_EQ(choice.detail,
            "The address on mlx5_2 has index 3 for less than a day, and had another one before.");
  EXPECT_EQ(choice.valid_until, moved + std::chrono::hours(24));
  EXPECT_EQ(choose(table, policy_for("rdma/*"), Exposure::Host, moved + std::chrono::hours(24)).index, 3);
  table.ports[1].gids->back().index_since = kNow + std::chrono::hours(1);
  EXPECT_EQ(choose(table).reason, Reason::GidUnstable) << "a clock that is behind";
  // NCCL finds it by itself where it can.
  EXPECT_EQ(choose(table, auto_policy("2.21.5")).reason, Reason::OmittedByPolicy);
}

// A storage and a compute VLAN on each port: 3 and 5.
NodeFabric two_networks(int count) {
  NodeFabric table = rails(count);
  table.interfaces.emplace();
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    Port& port = table.ports[static_cast<std::size_t>(i - 1)];
    port.gids->push_back(row(5, v4("10.9." + n + ".2"), GidType::RoCEv2, "eth" + n + ".9"));
    table.interfaces->push_back(interface("eth" + n, "25.11." + n + ".2", 24));
    table.interfaces->push_back(interface("eth" + n + ".9", "10.9." + n + ".2", 24));
  }
  return table;
}

TEST(GidIndex, OfSeveralSubnetsNoneIsPinnedUnlessThePolicyNamesOne) {
  NodeFabric table = two_networks(2);
  const GidChoice choice = choose(table);
  EXPECT_EQ(choice.reason, Reason::AmbiguousAddress);
  EXPECT_EQ(
      choice.detail,
      "There are usable rows in several subnets on mlx5_1,mlx5_2, and nothing says which is the fabric's: "
      "10.9.1.0/24, 25.11.1.0/24.");
  NcclPolicy policy = policy_for("rdma/*");
  policy.fabric.subnets = {*parse_cidr("10.9.0.0/16")};
  EXPECT_EQ(choose(table, policy).index, 5);
  const GidChoice searched = choose(table, auto_policy(""));
  EXPECT_EQ(searched.reason, Reason::OmittedByPolicy) << "NCCL takes one of them, as it does without us";
  EXPECT_EQ(searched.note,
            "There are usable rows in several subnets on mlx5_1,mlx5_2: those that NCCL takes count, unless "
            "fabric.subnets names a subnet.");
}

TEST(GidIndex, ASingleAddressBesideASubnetsIsAVip) {
  NodeFabric table = rails(1);
  table.ports[0].gids->insert(table.ports[0].gids->begin() + 2,
                              row(2, v4("25.11.1.99"), GidType::RoCEv2, "eth1"));
  table.interfaces = {{interface("eth1", "25.11.1.2", 24)}};
  table.interfaces->front().addresses->push_back({*parse_ip("25.11.1.99"), 32});
  EXPECT_EQ(choose(table).index, 3);
  table.interfaces->front().addresses->front() = {*parse_ip("169.254.3.4"), 16};
  EXPECT_EQ(choose(table).index, 2) << "beside a link-local address it is the node's own";
  table.interfaces->front().addresses->front() = {*parse_ip("25.11.1.2"), 32};
  EXPECT_EQ(choose(table).reason, Reason::AmbiguousAddress)
      << "of two single ones none is the VIP for certain";
}

TEST(GidIndex, TwoAddressesOfOneSubnetDoForEachOther) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports)
    port.gids->push_back(row(5, v4("25.11.1.9"), GidType::RoCEv2, *port.gids->back().netdev));
  (*table.ports[0].gids)[3].index = 4;
  EXPECT_EQ(choose(table).index, 5);
  EXPECT_EQ(choose(table).note, "");
}

TEST(GidIndex, DynamicGivesTheRangeThatAllPortsShare) {
  NodeFabric table = rails(2);
  table.ports[1].gids = usual_rows("25.11.1.3", "eth2");
  table.interfaces = {{interface("eth1", "25.11.1.2", 24), interface("eth2", "25.11.1.3", 24)}};
  NcclPolicy policy = policy_for("rdma/*");
  policy.gid_index.kind = GidIndexRule::Kind::Dynamic;
  const GidChoice choice = choose(table, policy);
  EXPECT_FALSE(choice.index);
  EXPECT_EQ(choice.reason, Reason::OmittedByPolicy);
  ASSERT_TRUE(choice.range);
  EXPECT_EQ(format_cidr(*choice.range), "25.11.1.0/24");
  table.interfaces = {{interface("eth1", "25.11.1.2", 24), interface("eth2", "25.11.1.3", 25)}};
  EXPECT_FALSE(choose(table, policy).range);
}

}  // namespace
}  // namespace nccl_env::tests::gid_index_test
