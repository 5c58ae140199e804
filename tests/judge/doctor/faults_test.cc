// SPDX-License-Identifier: Apache-2.0
// The doctor: every kind of fault, planted on one node of a fleet, is named with that node.
#include <algorithm>

#include "judge/doctor/fleet.h"

namespace nccl_env::faults_test {
namespace {

using namespace nccl_env::tests;

// A fault on gpu-17's third rail (or its like), and what has to be said.
struct Planted {
  std::string name;
  std::function<void(NodeFabric&)> plant;
  std::vector<std::string> expected;
  MakeNode make = roce_node;
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

template <RdmaNamespaceMode mode>
NodeFabric of_mode(int n) {
  NodeFabric node = roce_node(n);
  node.rdma_namespace_mode = mode;
  return node;
}

// DSCP 26 goes into priority 3, which alone has PFC.
template <int traffic_class>
NodeFabric lossless_node(int n) {
  NodeFabric node = roce_node(n);
  for (Port& port : node.ports) {
    port.traffic_class = traffic_class;
    port.lossless_priorities = "3";
    port.dscp_priorities = std::string(64, '0').replace(26, 1, "3");
  }
  return node;
}

constexpr auto to_lossy = [](auto& n) { n.ports[2].dscp_priorities->at(26) = '0'; };

std::vector<Planted> planted_faults() {
  return {
      {"PortDown",
       [](auto& n) {
         n.ports[2].state = PortState::Down;
         n.ports[2].state_since = kNow - std::chrono::hours(2);
       },
       {"error PortDown gpu-17 mlx5_3"}},
      {"PortInitOnInfiniBand",
       [](auto& n) { n.ports[2].state = PortState::Init; },
       {"error PortDown gpu-17 mlx5_2"},
       ib_node},
      {"RateLow", [](auto& n) { n.ports[2].rate_gbps = 100; }, {"warning RateLow gpu-17 mlx5_3"}},
      {"MtuDiffers", [](auto& n) { n.ports[2].active_mtu = 1024; }, {"error MtuDiffers gpu-17 mlx5_3"}},
      {"NetdevMtuDiffers",
       [](auto& n) { (*n.interfaces)[2].mtu = 1500; },
       {"warning MtuDiffers gpu-17 mlx5_3"}},
      {"IndexInsideANode", [](auto& n) { lead_astray(n.ports[2]); }, {"error GidIndexDiffers gpu-17 mlx5_3"}},
      {"IndexMoved",
       [](auto& n) {
         n.ports[2].gids->back().index_since = kNow - std::chrono::hours(3);
         n.ports[2].gid_index_changes = 2;
       },
       {"warning GidIndexMoved gpu-17 mlx5_3"}},
      {"NoAddress", [](auto& n) { n.ports[2].gids->resize(2); }, {"error NoAddress gpu-17 mlx5_3"}},
      {"DuplicateAddress",
       [](auto& n) {
         n.ports[2].gids = usual_rows(in_subnet(3, 40), "eth3");
         (*n.interfaces)[2] = interface("eth3", in_subnet(3, 40), 16);
       },
       {"error DuplicateAddress gpu-17 mlx5_3", "error DuplicateAddress gpu-40 mlx5_3"}},
      {"DuplicateGuid",
       [](auto& n) { n.ports[2].gids = ib_node(40).ports[2].gids; },
       {"error DuplicateAddress gpu-17 mlx5_2", "error DuplicateAddress gpu-40 mlx5_2"},
       ib_node},
      {"SwappedCables",
       exchange_cables,
       {"error SubnetDiffers gpu-17 mlx5_3", "error SubnetDiffers gpu-17 mlx5_4"}},
      {"WrongSubnet",
       [](auto& n) {
         n.ports[2].gids = usual_rows("172.16.3.17", "eth3");
         (*n.interfaces)[2] = interface("eth3", "172.16.3.17", 16);
       },
       {"warning SubnetDiffers gpu-17 mlx5_3"}},
      {"WrongPrefix",
       [](auto& n) { (*n.interfaces)[2].addresses->front().prefix = 24; },
       {"warning SubnetDiffers gpu-17 mlx5_3"}},
      {"OtherBoard",
       [](auto& n) { n.ports[2].board_id = "MT_0000000999"; },
       {"warning HardwareDiffers gpu-17 mlx5_3"}},
      {"OtherDriver",
       [](auto& n) {
         n.ports[2].driver = "bnxt_re";
         n.ports[2].board_id.reset();
       },
       {"error HardwareDiffers gpu-17 mlx5_3"}},
      {"OtherLinkLayer",
       [](auto& n) { n.ports[2].link_layer = LinkLayer::Ethernet; },
       {"error HardwareDiffers gpu-17 mlx5_2"},
       ib_node},
      {"StaleTable", [](auto& n) { n.time = kNow - std::chrono::hours(5); }, {"warning StaleTable gpu-17"}},
      {"ClockAhead", [](auto& n) { n.time = kNow + std::chrono::hours(5); }, {"warning StaleTable gpu-17"}},
      {"HcaMissing", [](auto& n) { n.ports.erase(n.ports.begin() + 2); }, {"error HcaMissing gpu-17 mlx5_3"}},
      {"LagMissing",
       [](auto& n) { n.ports.erase(n.ports.begin() + 2); },
       {"error HcaMissing gpu-17 mlx5_bond_2"},
       lag_node},
      {"ExclusiveAmongShared",
       [](auto& n) { n.rdma_namespace_mode = RdmaNamespaceMode::Exclusive; },
       {"warning NamespaceModeDiffers gpu-17"},
       of_mode<RdmaNamespaceMode::Shared>},
      {"SharedAmongExclusive",
       [](auto& n) { n.rdma_namespace_mode = RdmaNamespaceMode::Shared; },
       {"warning NamespaceModeDiffers gpu-17"},
       of_mode<RdmaNamespaceMode::Exclusive>},
      {"Renamed", [](auto& n) { n.ports[2].hca = "mlx5_12"; }, {"warning HcasDiffer gpu-17 mlx5_12"}},
      {"NoAddressOnLag",
       [](auto& n) { n.ports[1].gids->resize(2); },
       {"error NoAddress gpu-17 mlx5_bond_1"},
       lag_node},
      {"PortDownOfTheCabledOnes",
       [](auto& n) { n.ports[4].state = PortState::Down; },
       {"error PortDown gpu-17 rocep2s0f0"},
       dual_port_node},
      {"PortDownUnderSubInterfaces",
       [](auto& n) { n.ports[4].state = PortState::Down; },
       {"error PortDown gpu-17 mlx5_5"},
       sub_interface_node},
      {"LossyPriority", to_lossy, {"warning LossyTrafficClass gpu-17 mlx5_3"}, lossless_node<106>},
      {"NoPfc",
       [](auto& n) { n.ports[2].lossless_priorities = ""; },
       {"warning LossyTrafficClass gpu-17 mlx5_3"},
       lossless_node<106>},
      {"NoDscpTrusted",
       [](auto& n) { n.ports[2].dscp_priorities = ""; },
       {"warning LossyTrafficClass gpu-17 mlx5_3"},
       lossless_node<106>},
      {"OtherPriority",
       [](auto& n) {
         n.ports[2].lossless_priorities = "34";
         n.ports[2].dscp_priorities->at(26) = '4';
       },
       {"warning LossyTrafficClass gpu-17 mlx5_3"},
       lossless_node<106>},
      {"NoTrafficClassAmongThoseWithOne",
       [](auto& n) { n.ports[2].traffic_class = -1; },
       {"warning LossyTrafficClass gpu-17 mlx5_3"},
       lossless_node<106>},
      {"ATrafficClassAmongThoseWithNone",
       [](auto& n) { n.ports[2].traffic_class = 106; },
       {"warning LossyTrafficClass gpu-17 mlx5_3"},
       lossless_node<-1>},
      {"SlowErdma",
       [](auto& n) { n.ports[1].rate_gbps = 50; },
       {"warning RateLow gpu-17 erdma_1"},
       erdma_node},
  };
}

class PlantedFault : public ::testing::TestWithParam<Planted> {};

// A fault may well have consequences (a node with seven rails may be ambiguous): those name no other node.
TEST_P(PlantedFault, IsNamedWithItsNodeAndNoOtherIs) {
  for (const int size : {50, 200}) {
    Fleet fleet = fleet_of(size, GetParam().make);
    GetParam().plant(fleet[17]);
    const Diagnosis diagnosis = diagnose(fleet);
    const auto found = faults(diagnosis);
    for (const std::string& expected : GetParam().expected) EXPECT_THAT(found, Contains(expected)) << size;
    EXPECT_FALSE(is_good(diagnosis.findings));
    for (const std::string& each : found) {
      const bool named = each.find(" gpu-17") != each.npos ||
                         std::find(GetParam().expected.begin(), GetParam().expected.end(), each) !=
                             GetParam().expected.end();
      EXPECT_TRUE(named) << each;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Doctor, PlantedFault, ::testing::ValuesIn(planted_faults()),
                         [](const auto& each) { return each.param.name; });

// The driver's class counts before that of NCCL.
TEST(TrafficClass, IsTheDriversElseThePolicys) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.name = "roce";
  policy.env["NCCL_IB_TC"] = "96";
  Finding found = only_finding(diagnose(fleet_of(4, lossless_node<-1>), {policy}));
  EXPECT_EQ(
      found.sentence,
      "on all 4 nodes of the pool: traffic class 96 in priority 0 without PFC, which is on for 3; policy "
      "roce sets it (NCCL_IB_TC)");
  EXPECT_EQ(found.subject.parts.size(), 8u);
  Fleet fleet = fleet_of(4, lossless_node<106>);
  EXPECT_THAT(faults(diagnose(fleet, {policy})), IsEmpty());
  for (Port& port : fleet[2].ports) port.dscp_priorities = "";
  found = only_finding(diagnose(fleet, {policy}));
  EXPECT_EQ(
      found.sentence,
      "traffic class 106 in priority 0 without PFC, which is on for 3; the driver forces that class, and "
      "the port trusts no DSCP; with PFC on 3 of 4 nodes of its pool");
  // A class of its own for DSCP 59, as it is found with trust in DSCPs.
  for (NodeFabric& node : fleet) {
    for (Port& port : node.ports) {
      port.traffic_class = 236;
      port.lossless_priorities = "5";
      port.dscp_priorities = std::string(64, '0').replace(59, 1, "5");
    }
  }
  EXPECT_THAT(faults(diagnose(fleet, {policy})), IsEmpty());
}

// Healthy, or not known, on all nodes.
TEST(TrafficClass, IsNoFaultWhereNothingIsKnownToBeLossy) {
  const auto set = [](auto change) {
    return [change](NodeFabric& node) {
      for (Port& port : node.ports) change(port);
    };
  };
  const std::pair<const char*, std::function<void(NodeFabric&)>> rows[] = {
      {"no PFC: ECN alone", set([](Port& port) { port.lossless_priorities = ""; })},
      {"no DCB: a virtual function, a bond", set([](Port& port) {
         port.lossless_priorities.reset();
         port.dscp_priorities.reset();
       })},
      {"a DSCP whose priority is not known", set([](Port& port) { port.dscp_priorities->at(24) = '-'; })},
      {"no DSCP is trusted, by a driver with other rules", set([](Port& port) {
         port.dscp_priorities = "";
         port.driver = "bnxt_en";
       })},
      {"InfiniBand", set([](Port& port) {
         port.transport = Transport::InfiniBand;
         port.link_layer = LinkLayer::InfiniBand;
       })},
      {"eRDMA", set([](Port& port) { port.transport = Transport::eRDMA; })}};
  NcclPolicy policy = policy_for("rdma/hca");
  policy.env["NCCL_IB_TC"] = "96";
  const auto told = [&](const Fleet& fleet, const NcclPolicy& by) {
    const auto found = diagnose(fleet, {by}).findings;
    return std::ranges::count(found, Code::LossyTrafficClass, &Finding::code);
  };
  EXPECT_EQ(told(fleet_of(4, lossless_node<-1>), policy), 1);
  for (const auto& [name, change] : rows) {
    Fleet fleet = fleet_of(4, lossless_node<-1>);
    for (NodeFabric& node : fleet) change(node);
    EXPECT_EQ(told(fleet, policy), 0) << name;
  }
  Fleet by_level = fleet_of(4, lossless_node<-1>);
  for (NodeFabric& node : by_level) set([](Port& port) { port.dscp_priorities = ""; })(node);
  EXPECT_EQ(told(by_level, policy), 1);
  policy.env["NCCL_IB_SL"] = "3";
  EXPECT_EQ(told(by_level, policy), 0) << "a service level of its own";
  policy.env.erase("NCCL_IB_TC");
  EXPECT_EQ(told(fleet_of(4, lossless_node<-1>), policy), 0) << "jobs set their own class";
}

}  // namespace
}  // namespace nccl_env::faults_test
