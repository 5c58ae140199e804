// SPDX-License-Identifier: Apache-2.0
// The doctor: faults of few nodes, of whole pools, and their causes.
#include <functional>
#include <nlohmann/json.hpp>

#include "core/pods.h"
#include "judge/doctor/fleet.h"
#include "nccl_env/judge/doctor/doctor.h"

namespace nccl_env::causes_test {
namespace {

using namespace nccl_env::tests;

// Where every node lacks addresses, that is a plan of sub-interfaces, or nobody gave any yet.
TEST(DoctorsCause, RailsWithoutAddressesOnAllNodesAreToKnow) {
  Fleet fleet = fleet_of(6, roce_node);
  const auto strip = [&](std::size_t rails, std::size_t rows) {
    for (NodeFabric& node : fleet) {
      for (std::size_t i = 0; i < rails; ++i) node.ports[i].gids->resize(rows);
    }
  };
  strip(4, 2);
  const Finding half = only_finding(diagnose(fleet));
  EXPECT_EQ(half.severity, Severity::Info);
  EXPECT_EQ(half.subject.parts.size(), 4u);
  EXPECT_EQ(half.sentence,
            "on all 6 nodes of the pool: no usable RoCE v2 row (row 1: link-local), and hostNetwork pods get "
            "4 of 8 "
            "HCAs; a usable one on 0 of 6 nodes of its pool");
  strip(8, 2);
  const Diagnosis none = diagnose(fleet);
  EXPECT_THAT(only_finding(none).sentence, HasSubstr("get no HCA list (NoFabricPort)"));
  EXPECT_EQ(none.nodes[0].host_reason, "NoFabricPort");
  EXPECT_EQ(none.nodes[0].hcas.size(), 8u) << "pods with sub-interfaces get them";
  EXPECT_TRUE(diagnose(fleet, {policy_for("rdma/hca", Exposure::SubInterface)}).findings.empty());
  EXPECT_FALSE(diagnose(fleet, {policy_for("rdma/hca", Exposure::Host)}).findings.empty());
}

TEST(DoctorsCause, RowsOfRoceV1AloneAreADriversFault) {
  Fleet fleet = fleet_of(6, roce_node);
  for (NodeFabric& node : fleet) {
    for (std::size_t i = 0; i < 8; ++i)
      std::erase_if(*node.ports[i].gids, [](const GidRow& row) { return row.type != GidType::RoCEv1; });
  }
  const Finding found = only_finding(diagnose(fleet));
  EXPECT_EQ(found.severity, Severity::Warning);
  EXPECT_THAT(found.remedy, HasSubstr("RoCE v1 alone"));
}

void give_ipv6(NodeFabric& node, std::size_t rails) {
  for (std::size_t i = 0; i < rails; ++i) {
    const std::string address =
        "fd00:" + std::to_string(i) + "::" + std::to_string(node.name.back() - '0' + 1);
    GidRow& row = node.ports[i].gids->back();
    row.gid = gid(address);
    row.address = row.gid.address();
    node.ports[i].gids->erase(node.ports[i].gids->end() - 2);
    (*node.interfaces)[i].addresses = {{row.gid.address(), 64}};
  }
}

// Where IPv4 and IPv6 meet, no connection comes up.
TEST(DoctorsCause, NodesOfAnotherAddressFamilyDoNotReachTheOthers) {
  for (const int size : {4, 20}) {
    Fleet fleet = fleet_of(size, roce_node);
    give_ipv6(fleet[3], 8);
    const Finding found = only_finding(diagnose(fleet));
    EXPECT_EQ(found.subject.name, "gpu-3");
    EXPECT_THAT(found.sentence, StartsWith("has addresses of IPv6 alone, "));
  }
  Fleet pair = fleet_of(2, roce_node);
  give_ipv6(pair[1], 8);
  EXPECT_THAT(faults(diagnose(pair)), IsEmpty());
}

TEST(DoctorsCause, RailsMayBeOfOneFamilyEach) {
  for (const std::size_t rails : {1, 4}) {
    Fleet fleet = fleet_of(6, roce_node);
    for (NodeFabric& node : fleet) give_ipv6(node, rails);
    EXPECT_THAT(faults(diagnose(fleet)), IsEmpty()) << rails << render_text(diagnose(fleet));
  }
  Fleet one = fleet_of(1, roce_node);
  give_ipv6(one[0], 1);
  EXPECT_THAT(faults(diagnose(one)), ElementsAre("error GidIndexDiffers gpu-0 mlx5_1"));
  EXPECT_THAT(diagnose(one).findings[0].sentence, HasSubstr("3 (IPv6) on mlx5_1"));
}

TEST(DoctorsCause, AddressesOfAllNodesAreOneFinding) {
  Fleet fleet = fleet_of(6, roce_node);
  for (NodeFabric& node : fleet) {
    node.ports = fleet[0].ports;
    node.interfaces = fleet[0].interfaces;
  }
  EXPECT_EQ(only_finding(diagnose(fleet)).sentence,
            "on all 6 nodes of the pool: its address is that of 6 ports");
  Fleet three = fleet_of(3, roce_node);
  three[1].ports = three[0].ports;
  three[1].interfaces = three[0].interfaces;
  EXPECT_THAT(faults(diagnose(three)), Contains("error DuplicateAddress gpu-1 mlx5_1"));
}

// The index differs because the address moved: one cause.
TEST(DoctorsCause, AnIndexThatMovedIsTheCauseOfOneThatDiffers) {
  Fleet fleet = fleet_of(6, roce_node);
  const auto move = [&](std::size_t port) {
    GidRow& row = fleet[1].ports[port].gids->back();
    row.index = 5;
    row.index_since = kNow - std::chrono::hours(3);
    fleet[1].ports[port].gid_index_changes = 1;
  };
  move(2);
  Finding found = only_finding(diagnose(fleet));
  EXPECT_EQ(found.code, Code::GidIndexMoved);
  EXPECT_EQ(found.severity, Severity::Warning);
  EXPECT_THAT(found.sentence, HasSubstr("; so no index serves all ports of the node"));
  EXPECT_THAT(found.remedy, HasSubstr("--field-selector spec.nodeName=gpu-1`"));
  for (const std::size_t port : {0, 1, 3, 4, 5, 6, 7}) move(port);
  found = only_finding(diagnose(fleet));  // of eight ports of one node
  EXPECT_EQ(found.severity, Severity::Warning);
  EXPECT_THAT(found.sentence, StartsWith("their addresses, 10.1.0.2 for one, are at index 5"));
}

// More nodes with another index are no less of a fault than one.
TEST(DoctorsCause, AnUnlikeIndexInOneNetworkIsNoFault) {
  for (const int step : {4, 2, 1}) {
    Fleet fleet = fleet_of(5, roce_node);
    for (std::size_t n = 0; n < 5; ++n) {
      for (std::size_t i = 0; i < 8; ++i)
        fleet[n].ports[i].gids->back().index = 3 + 2 * (static_cast<int>(n) / step);
    }
    EXPECT_THAT(faults(diagnose(fleet)), IsEmpty()) << step;
  }
  Fleet inside = fleet_of(3, roce_node);
  inside[1].ports[2].gids->back().index = 5;  // NCCL's own search ends there
  EXPECT_EQ(only_finding(diagnose(inside)).severity, Severity::Info);
  NcclPolicy pins = policy_for("rdma/hca");
  pins.gid_index.kind = GidIndexRule::Kind::Pin;
  EXPECT_THAT(faults(diagnose(inside, {pins})), ElementsAre("error GidIndexDiffers gpu-1 mlx5_3"));
}

TEST(DoctorsCause, AnIndexThatMeansAnotherNetworkIsTold) {
  Fleet fleet = fleet_of(6, roce_node);
  for (int n = 0; n < 6; ++n) {  // an address of storage, on the first node before that of the rail
    NodeFabric& node = fleet[static_cast<std::size_t>(n)];
    const std::string address = "172.16.0." + std::to_string(n + 1);
    add_netdev(node, "eth1.9", address, 24);
    node.ports[0].gids->back().index = n == 0 ? 5 : 3;
    node.ports[0].gids->push_back(row(n == 0 ? 3 : 5, v4(address), GidType::RoCEv2, "eth1.9"));
    std::ranges::sort(*node.ports[0].gids, {}, &GidRow::index);
  }
  const Diagnosis diagnosis = diagnose(fleet);
  EXPECT_THAT(faults(diagnosis), ElementsAre("warning SubnetDiffers gpu-0 mlx5_1"));
  EXPECT_THAT(diagnosis.findings[0].sentence, StartsWith("172.16.0.0/24; 10.1.0.0/16 on 5 of 6 nodes"));
  fleet.resize(2);
  for (NodeFabric& node : fleet) node.ports.resize(1);
  EXPECT_THAT(faults(diagnose(fleet)), ElementsAre(StartsWith("warning SubnetDiffers")))
      << "of two none is usual";
}

TEST(DoctorsCause, TwoNodesWithoutACommonNetworkNeedARoute) {
  const Diagnosis routed = diagnose(fleet_of(2, dual_port_node));
  EXPECT_THAT(faults(routed), IsEmpty());
  EXPECT_EQ(std::ranges::count(routed.findings, Code::SubnetDiffers, &Finding::code), 1);
}

void set_address(NodeFabric& node, std::size_t rail, const std::string& address, int prefix) {
  const std::string netdev = "eth" + std::to_string(rail + 1);
  node.ports[rail].gids = usual_rows(address, netdev);
  (*node.interfaces)[rail] = interface(netdev, address, prefix);
}

TEST(DoctorsCause, AnAddressOfTwoPortsOfANodeIsOneFinding) {
  Fleet fleet = fleet_of(6, roce_node);
  set_address(fleet[1], 3, in_subnet(3, 1), 16);
  const Finding found = only_finding(diagnose(fleet));  // its subnet follows
  EXPECT_THAT(found.subject.parts, ElementsAre("mlx5_3", "mlx5_4"));
  EXPECT_EQ(found.sentence, "10.3.0.2 is the address of gpu-1 mlx5_3, gpu-1 mlx5_4");
}

// The IB node with seven HCAs is ambiguous, and the missing one says why; half of the nodes like that still
// have eight rails.
TEST(DoctorsCause, WhatMakesAFabricAmbiguousIsTheCause) {
  for (const int lacking : {1, 2}) {
    Fleet fleet = fleet_of(lacking * 2 + 1, ib_node);
    for (int n = 0; n < lacking; ++n) {
      auto& ports = fleet[static_cast<std::size_t>(n)].ports;
      ports.erase(ports.begin() + 2);
    }
    const Diagnosis diagnosis = diagnose(fleet);
    ASSERT_EQ(diagnosis.findings.size(), static_cast<std::size_t>(lacking)) << render_text(diagnosis);
    EXPECT_THAT(faults(diagnosis)[0], "error HcaMissing gpu-0 mlx5_2");
    EXPECT_THAT(diagnosis.findings[0].sentence,
                AllOf(StartsWith("has 7 of 8 fabric ports"), HasSubstr("(AmbiguousFabric)")));
  }
  Fleet fleet = fleet_of(4, ib_node);
  fleet[1].ports[2].board_id = "MT_0000000999";
  EXPECT_THAT(faults(diagnose(fleet)), ElementsAre("error HardwareDiffers gpu-1 mlx5_2"));
  EXPECT_THAT(diagnose(fleet).findings[0].sentence, HasSubstr("no HCA list (AmbiguousFabric)"));
}

// Where all are slow, nobody is slower than the others.
TEST(DoctorsCause, APortThatWasFasterIsSlow) {
  for (const int slow : {1, 2, 3}) {
    Fleet fleet = fleet_of(3, lag_node);
    for (NodeFabric& node : fleet) {
      for (Port& port : node.ports) port.max_rate_gbps = port.rate_gbps;
    }
    for (int n = 0; n < slow; ++n) fleet[static_cast<std::size_t>(n)].ports[1].rate_gbps = 200;
    const auto found = faults(diagnose(fleet));
    EXPECT_EQ(found.size(), slow == 3 ? 1u : static_cast<std::size_t>(slow));
    EXPECT_EQ(found[0],
              slow == 3 ? "warning RateLow pool-1 mlx5_bond_1" : "warning RateLow gpu-0 mlx5_bond_1");
  }
}

// Cards of both link types at the same places: nothing of the fabric is lacking.
TEST(DoctorsCause, AWholeFabricOfAnotherLinkTypeLacksNothing) {
  Fleet fleet = fleet_of(4, ib_node);
  for (NodeFabric& node : fleet) {
    for (std::size_t i = 0; i < 10; ++i) node.ports[i].pci_address = "0000:1" + std::to_string(i) + ":00.0";
  }
  for (std::size_t n = 0; n < 2; ++n) {
    fleet[n].ports.pop_back();
    for (std::size_t i = 0; i < 8; ++i) {
      const std::string netdev = "ib" + std::to_string(i);
      Port& port = fleet[n].ports[i];
      port.link_layer = LinkLayer::Ethernet;
      port.transport = Transport::RoCE;
      port.gids = usual_rows(in_subnet(static_cast<int>(i) + 20, static_cast<int>(n)), netdev);
    }
  }
  EXPECT_TRUE(diagnose(fleet).findings.empty()) << render_text(diagnose(fleet));
}

TEST(DoctorsCause, TheFirstLineNamesEachSeveritysCause) {
  Fleet fleet = fleet_of(8, roce_node);
  EXPECT_THAT(render_text(diagnose(fleet)), StartsWith("8 nodes, 1 pool: healthy\n"));
  for (std::size_t n = 0; n < 5; ++n) {
    fleet[n].ports[2].state = PortState::Down;
    fleet[n].ports[2].state_since = kNow - std::chrono::hours(1);
  }
  fleet[6].ports[1].rate_gbps = 100;
  fleet[7].time = kNow - std::chrono::hours(5);
  const Diagnosis diagnosis = diagnose(fleet);
  EXPECT_THAT(render_text(diagnosis), StartsWith("8 nodes, 1 pool: 5 errors (PortDown mlx5_3) on 5 nodes, 2 "
                                                 "warnings (RateLow, StaleTable) on gpu-6, gpu-7\n"));
  EXPECT_THAT(render_text(diagnosis), StartsWith(to_json(diagnosis)["sentence"].get<std::string>() + "\n"));
}

}  // namespace
}  // namespace nccl_env::causes_test
