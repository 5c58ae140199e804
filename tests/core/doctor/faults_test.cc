// SPDX-License-Identifier: Apache-2.0
// The doctor: every kind of fault, planted on one node of a fleet, is named with that node.
#include <algorithm>

#include "core/doctor/fleet.h"

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

GidRow& last_row(Port& port) {
  return port.gids->back();
}

template <RdmaNamespaceMode mode>
NodeFabric of_mode(int n) {
  NodeFabric node = roce_node(n);
  node.rdma_namespace_mode = mode;
  return node;
}

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
      {"IndexInsideANode",
       [](auto& n) { last_row(n.ports[2]).index = 5; },
       {"error GidIndexDiffers gpu-17 mlx5_3"}},
      {"IPv6BeforeIPv4InsideANode",
       [](auto& n) {
         GidRow before = last_row(n.ports[2]);
         before.gid = *parse_gid("fd00::17");
         before.address = *parse_ip("fd00::17");
         last_row(n.ports[2]).index = 5;
         n.ports[2].gids->insert(n.ports[2].gids->end() - 1, before);
         (*n.interfaces)[2].addresses->push_back({*parse_ip("fd00::17"), 64});
       },
       {"error GidIndexDiffers gpu-17 mlx5_3"}},
      {"IndexMoved",
       [](auto& n) {
         last_row(n.ports[2]).index_since = kNow - std::chrono::hours(3);
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

}  // namespace
}  // namespace nccl_env::faults_test
