// SPDX-License-Identifier: Apache-2.0
// The doctor: no false alarm on healthy fleets; how it measures, and what it prints.
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "judge/doctor/fleet.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/judge/doctor/doctor.h"
#include "support/golden.h"

namespace nccl_env::doctor_test {
namespace {

using namespace nccl_env::tests;

class HealthyFleet : public ::testing::TestWithParam<FleetKind> {};

TEST_P(HealthyFleet, OfAnySizeGivesNoAlarm) {
  for (const int size : {1, 2, 3, 8, 200}) {
    const Diagnosis diagnosis = diagnose(fleet_of(size, GetParam().make));
    EXPECT_THAT(faults(diagnosis), IsEmpty()) << size;
    EXPECT_TRUE(is_good(diagnosis.findings));
    EXPECT_EQ(diagnosis.pools.size(), 1u) << size;
    EXPECT_EQ(diagnosis.nodes.size(), static_cast<std::size_t>(size));
  }
}

INSTANTIATE_TEST_SUITE_P(Doctor, HealthyFleet, ::testing::ValuesIn(fleet_kinds()),
                         [](const auto& each) { return each.param.name; });

TEST(Doctor, FleetsOfAllKindsTogetherGiveNoAlarm) {
  Fleet all;
  int kind = 0;
  for (const FleetKind& each : fleet_kinds()) {
    for (NodeFabric node : fleet_of(40, each.make)) {
      node.name = each.name + "-" + node.name;
      // Another fabric has other addresses.
      for (Port& port : node.ports) {
        if (!port.gids) continue;
        for (GidRow& row : *port.gids) {
          row.gid.bytes[13] = static_cast<std::uint8_t>(row.gid.bytes[13] + kind * 30);
          if (row.address) row.address = row.gid.address();
        }
      }
      node.interfaces.reset();
      all.push_back(node);
    }
    ++kind;
  }
  const Diagnosis diagnosis = diagnose(all);
  EXPECT_THAT(faults(diagnosis), IsEmpty());
  EXPECT_EQ(diagnosis.pools.size(), 5u);  // RoCE and SubInterface nodes have the same hardware
}

struct Odd {
  const char* name;
  int size;
  MakeNode make;
  std::function<void(Fleet&)> change;
  std::vector<std::string> faults;
  std::vector<NcclPolicy> policies = {};
};

NcclPolicy with_fabric(std::vector<std::string> hcas, int expect_ports = 0) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.fabric.hcas = std::move(hcas);
  if (expect_ports > 0) policy.fabric.expect_ports = expect_ports;
  return policy;
}

TEST(Doctor, FaultsAreThoseOfTheFabricThatIsWanted) {
  const auto slow = [](Fleet& fleet) { fleet[4].ports[6].rate_gbps = 100; };  // mlx5_7
  NcclPolicy glob = with_fabric({"mlx5_*"});
  glob.fabric.exclude_hcas = {"mlx5_9"};
  const Odd rows[] = {
      {"a single node, by its own ports",
       1,
       roce_node,
       [](Fleet& fleet) {
         fleet[0].ports[2].rate_gbps = 100;
         fleet[0].ports[4].state = PortState::Down;
         lead_astray(fleet[0].ports[6]);
       },
       {"error PortDown gpu-0 mlx5_5", "error GidIndexDiffers gpu-0 mlx5_7", "warning RateLow gpu-0 mlx5_3"}},
      {"management that is down on all nodes",
       200,
       roce_node,
       [](Fleet& fleet) {
         for (NodeFabric& node : fleet) node.ports.back().state = PortState::Down;
       },
       {}},
      {"what is not known",
       20,
       roce_node,
       [](Fleet& fleet) {
         for (Port& port : fleet[3].ports) {
           port.state.reset();
           port.rate_gbps.reset();
           port.active_mtu.reset();
           port.gids.reset();
         }
         fleet[3].interfaces.reset();
         fleet[3].time.reset();
       },
       {}},
      // A policy whose glob takes a port does not say that the port has a cable.
      {"a ninth port that is up on one node",
       20,
       ib_node,
       [](Fleet& fleet) {
         for (NodeFabric& node : fleet) {
           node.ports[8] = node.ports[7];
           node.ports[8].hca = "mlx5_8";
           node.ports[8].gids.reset();
           if (node.name != "gpu-3") node.ports[8].state = PortState::Down;
         }
       },
       {},
       {glob}},
      {"a slow port", 20, roce_node, slow, {"warning RateLow gpu-4 mlx5_7"}},
      {"a slow port that no policy wants", 20, roce_node, slow, {}, {with_fabric({"mlx5_[1-4]"})}},
      {"too few ports for a policy",
       20,
       roce_node,
       [](Fleet& fleet) { fleet[4].ports[2].state = PortState::Down; },
       {"error PortDown gpu-4 mlx5_3"},
       {with_fabric({}, 8)}}};
  for (const Odd& row : rows) {
    SCOPED_TRACE(row.name);
    Fleet fleet = fleet_of(row.size, row.make);
    row.change(fleet);
    EXPECT_THAT(faults(diagnose(fleet, row.policies)), ElementsAreArray(row.faults));
  }
  Fleet few = fleet_of(20, roce_node);
  few[4].ports[2].state = PortState::Down;
  EXPECT_THAT(diagnose(few, {with_fabric({}, 8)}).findings[0].sentence,
              HasSubstr("; so its pods get 7 HCAs, fewer than the policy expects (TooFewPorts)"));
  EXPECT_EQ(diagnose(fleet_of(1, roce_node), {with_fabric({"mlx5_[1-4]"})}).nodes[0].hca_list,
            "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
}

TEST(Doctor, APolicysIndexThatIsNotUsableIsThePolicysToMend) {
  NcclPolicy policy;
  policy.name = "p";
  policy.gid_index.kind = GidIndexRule::Kind::Literal;
  policy.gid_index.literal = 1;
  const Diagnosis diagnosis = diagnose(fleet_of(3, roce_node), {policy});
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_THAT(diagnosis.findings[0].sentence, HasSubstr("row is not usable here; 3 is"));
  EXPECT_THAT(diagnosis.findings[0].remedy, HasSubstr("of the policy to 3"));
}

// Asks nothing where a policy says how many ports the nodes have.
TEST(Doctor, FewerCardsThatAPolicyExpectsAreNoFault) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.fabric.expect_ports = 7;
  Fleet fleet = fleet_of(6, roce_node);
  for (std::size_t n = 0; n < 2; ++n) fleet[n].ports.erase(fleet[n].ports.begin() + 2);
  EXPECT_TRUE(is_good(diagnose(fleet, {policy}).findings)) << render_text(diagnose(fleet, {policy}));
  policy.fabric.expect_ports = 8;
  const Diagnosis diagnosis = diagnose(fleet, {policy});
  EXPECT_EQ(count(diagnosis.findings, Severity::Error), 2u) << render_text(diagnosis);
  EXPECT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_THAT(diagnosis.findings[0].sentence,
              AllOf(StartsWith("has 7 of 8 fabric ports"), HasSubstr("no HCA list (TooFewPorts)")));
}

TEST(Doctor, AnotherLinkTypeOfTheSameCardsIsOneFindingWithItsRemedy) {
  for (const std::size_t rails : {1u, 8u}) {
    Fleet fleet = fleet_of(6, roce_node);
    for (std::size_t i = 0; i < rails; ++i) {
      Port& port = fleet[2].ports[i];
      port.link_layer = LinkLayer::InfiniBand;
      port.transport = Transport::InfiniBand;
      port.gids = std::vector<GidRow>{{0, gid("fe80::1:2:3:4"), GidType::IB, {}, {}}};
      if (rails > 1) port.state = PortState::Down;
    }
    const Finding found = only_finding(diagnose(fleet));
    EXPECT_EQ(found.code, Code::HardwareDiffers);
    EXPECT_EQ(found.subject.parts.size(), rails);
    EXPECT_THAT(found.remedy, HasSubstr("mlxconfig -d mlx5_1 set LINK_TYPE_P1=2`"));
  }
}

TEST(Doctor, AddressesOfAStaleTableAreNobodys) {
  Fleet fleet = fleet_of(6, roce_node);
  fleet.push_back(fleet[2]);
  fleet.back().name = "gpu-2-before";
  EXPECT_EQ(diagnose(fleet).findings[0].code, Code::DuplicateAddress);
  fleet.back().time = kNow - std::chrono::hours(25);
  EXPECT_THAT(only_finding(diagnose(fleet)).sentence, HasSubstr("25 hours ago"));
}

TEST(Doctor, TheRemedyOfAPortIsThatOfWhatIsSeen) {
  const auto remedy_after = [](const std::function<void(NodeFabric&)>& change, MakeNode make = roce_node) {
    Fleet fleet = fleet_of(6, make);
    change(fleet[2]);
    const Diagnosis diagnosis = diagnose(fleet);
    return diagnosis.findings.empty() ? "" : std::string(remedy_of(diagnosis.findings[0]));
  };
  const auto is_of_cable = HasSubstr("cable");
  EXPECT_THAT(remedy_after([](NodeFabric& node) { node.ports[2].state = PortState::Down; }), is_of_cable);
  EXPECT_THAT(remedy_after([](NodeFabric& node) {
                node.ports[2].state = PortState::Down;
                (*node.interfaces)[2].up = false;
              }),
              AllOf(HasSubstr("ip link set"), Not(is_of_cable)));
  EXPECT_THAT(remedy_after([](NodeFabric& node) { node.ports[2].state = PortState::Init; }, ib_node),
              AllOf(HasSubstr("subnet manager"), Not(is_of_cable)));
  EXPECT_THAT(remedy_after([](NodeFabric& node) {
                std::erase_if(*node.ports[2].gids,
                              [](const GidRow& row) { return row.type != GidType::RoCEv1; });
              }),
              HasSubstr("RoCE v1 alone"));
}

TEST(Doctor, WhatIsNotKnownIsNotShownAsGood) {
  Fleet fleet = fleet_of(3, roce_node);
  EXPECT_THAT(render_text(diagnose(fleet)), StartsWith("3 nodes, 1 pool: healthy\n\n"));
  for (Port& port : fleet[1].ports) port.state.reset();
  const Diagnosis diagnosis = diagnose(fleet);
  EXPECT_THAT(render_text(diagnosis),
              StartsWith("3 nodes, 1 pool: nothing found; state not known for 8 of 24 fabric ports\n"));
  for (Port& port : fleet[0].ports) port.gids.reset();  // as of `rdma link`
  EXPECT_THAT(to_json(diagnose({fleet[0]}))["sentence"],
              "1 node, 1 pool: nothing found; GIDs not known for 8 of 8 fabric ports");
}

TEST(Doctor, InExclusiveModeAMissingHcaIsOnlyToKnow) {
  Fleet fleet = fleet_of(20, ib_node);
  fleet[3].rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  fleet[3].ports.erase(fleet[3].ports.begin() + 1);
  const Diagnosis diagnosis = diagnose(fleet);
  EXPECT_EQ(only_finding(diagnosis).code, Code::HcaMissing) << "seven ports, and one may be a pod's";
  EXPECT_TRUE(is_good(diagnosis.findings));
}

// No netdev gives an InfiniBand link its MTU, or its GUID.
TEST(Doctor, RemediesAreOfTheLinkLayer) {
  for (const auto& [make, of_netdevs] : {std::pair(MakeNode(ib_node), false), {roce_node, true}}) {
    Fleet fleet = fleet_of(8, make);
    fleet[3].ports[2].active_mtu = 2048;
    fleet[4].ports[2].gids = fleet[5].ports[2].gids;
    fleet[4].interfaces = fleet[5].interfaces;
    std::set<Code> told;
    for (const Finding& finding : diagnose(fleet).findings) {
      if (finding.code != Code::MtuDiffers && finding.code != Code::DuplicateAddress) continue;
      told.insert(finding.code);
      EXPECT_EQ(finding.remedy.empty(), of_netdevs) << finding.remedy;
    }
    EXPECT_EQ(told.size(), 2u);
  }
}

// Half of the nodes: nobody knows whether that is a plan. An unknown mode is none.
TEST(Doctor, TwoNamespaceModesOfAPoolAreAsked) {
  Fleet fleet = fleet_of(8, ib_node);
  fleet[0].rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  EXPECT_THAT(diagnose(fleet).findings, IsEmpty());
  for (std::size_t n = 0; n < 8; ++n)
    fleet[n].rdma_namespace_mode = n < 4 ? RdmaNamespaceMode::Exclusive : RdmaNamespaceMode::Shared;
  const Diagnosis diagnosis = diagnose(fleet);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].code, Code::NamespaceModeDiffers);
  EXPECT_EQ(diagnosis.findings[0].subject.name, "pool-1") << "no node is the odd one";
  EXPECT_TRUE(is_good(diagnosis.findings));
}

// Half of a pool's ports may have no cable; the policy says that they have one.
TEST(Doctor, PortsThatAPolicyWantsAreNotDownOnPurpose) {
  NcclPolicy policy = policy_for("rdma/hca");
  Fleet fleet = fleet_of(2, ib_node);
  for (NodeFabric& node : fleet) {
    for (std::size_t port = 0; port < 4; ++port) node.ports[port].state = PortState::Down;
  }
  EXPECT_THAT(faults(diagnose(fleet, {policy})), IsEmpty());
  NcclPolicy named = policy;
  named.fabric.hcas = {"mlx5_[0-7]"};
  EXPECT_THAT(faults(diagnose(fleet, {named})), Contains("error PortDown gpu-1 mlx5_0"));
  policy.fabric.expect_ports = 8;
  EXPECT_THAT(faults(diagnose(fleet, {policy})), Contains("error PortDown gpu-1 mlx5_0"));
}

struct Outage {
  int nodes, down, of;  // `down` nodes of `nodes` have the first `of` rails down
  std::optional<std::chrono::hours> since;
  bool told;
};

// A switch takes a rail from half of a pool, or from all of it; the healthy nodes are not the odd ones.
TEST(Doctor, ARailThatIsDownOnManyNodesIsNoSpare) {
  using std::chrono::hours;
  for (const auto& [nodes, down, of, since, told] :
       std::vector<Outage>{{6, 3, 1, hours(1), true},
                           {6, 4, 1, {}, false},
                           {6, 6, 1, hours(0), true},
                           {6, 6, 4, hours(1), true},  // half of each node went down lately
                           {6, 6, 4, {}, false},       // and so, since nobody knows when
                           {6, 6, 4, hours(1000), false},
                           {6, 6, 8, {}, true},
                           {1, 1, 4, hours(1), true},
                           {1, 1, 4, {}, false},
                           {2, 1, 4, {}, true}}) {  // the other node has them
    Fleet fleet = fleet_of(nodes, ib_node);
    for (int n = 0; n < down; ++n) {
      for (int rail = 0; rail < of; ++rail) {
        Port& port = fleet[static_cast<std::size_t>(n)].ports[static_cast<std::size_t>(rail)];
        port.state = PortState::Down;
        port.max_rate_gbps = port.rate_gbps;
        if (since) port.state_since = kNow - *since;
      }
    }
    const std::string of_what =
        std::to_string(down) + " of " + std::to_string(nodes) + " nodes, " + std::to_string(of) + " rails";
    const auto found = faults(diagnose(fleet));
    EXPECT_EQ(found.size(), told ? static_cast<std::size_t>(down * of) : 0u) << of_what;
    EXPECT_THAT(found, ::testing::Each(StartsWith("error PortDown gpu-"))) << of_what;
  }
}

// With one node there is nobody to compare it with, and explain sends people here.
TEST(Doctor, OfOneNodeAPortThatIsSetUpIsNoSpare) {
  const auto found = [](const auto& make, PortState state, bool rows) {
    Fleet fleet = fleet_of(1, make);
    Port& port = fleet[0].ports[2];
    port.state = state;
    port.max_rate_gbps = port.rate_gbps;
    if (!rows) port.gids.emplace();
    if (fleet[0].interfaces) {
      for (Interface& interface : *fleet[0].interfaces) interface.up = interface.name != port.netdev;
    }
    return faults(diagnose(fleet)).size();
  };
  EXPECT_EQ(found(ib_node, PortState::Init, true), 1u);
  EXPECT_EQ(found(ib_node, PortState::Down, true), 0u);
  EXPECT_EQ(found(roce_node, PortState::Down, true), 1u) << "an interface that is down keeps its address";
  EXPECT_EQ(found(roce_node, PortState::Down, false), 0u);
}

// A second port of a card has no cable, even where it has an address.
TEST(Doctor, SecondPortsWithAddressesMayHaveNoCable) {
  Fleet fleet = fleet_of(20, dual_port_node);
  for (NodeFabric& node : fleet) {
    for (std::size_t i = 0; i < node.ports.size(); ++i) {
      node.ports[i].pci_address = "0000:1" + std::to_string(i / 2) + ":00." + std::to_string(i % 2);
      if (i % 2 == 1) node.ports[i].gids = usual_rows("10.9.9." + std::to_string(i), "enp9");
    }
  }
  EXPECT_THAT(faults(diagnose(fleet)), IsEmpty());
  fleet[4].ports[2].state = PortState::Down;
  EXPECT_THAT(faults(diagnose(fleet)), ElementsAre("error PortDown gpu-4 rocep1s0f0"));
}

TEST(Doctor, ExchangedCablesOfSeveralNodesAreNoUnit) {
  for (const auto& [nodes, wrong] : {std::pair(40, 4), std::pair(8, 2), std::pair(8, 3)}) {
    Fleet fleet = fleet_of(nodes, roce_node);
    for (int n = 0; n < wrong; ++n) exchange_cables(fleet[static_cast<std::size_t>(n)]);
    const Diagnosis diagnosis = diagnose(fleet);
    EXPECT_EQ(count(diagnosis.findings, Severity::Error), static_cast<std::size_t>(2 * wrong)) << nodes;
    EXPECT_THAT(faults(diagnosis), Contains("error SubnetDiffers gpu-1 mlx5_4"));
  }
}

TEST(Doctor, AFabricThatIsDownOnAllNodesHasOneCause) {
  Fleet fleet = fleet_of(6, ib_node);
  for (NodeFabric& node : fleet) {
    for (std::size_t i = 0; i < 8; ++i) {
      node.ports[i].state = PortState::Init;
      node.ports[i].max_rate_gbps = node.ports[i].rate_gbps;
    }
  }
  const Diagnosis diagnosis = diagnose(fleet);
  EXPECT_EQ(diagnosis.findings.size(), 6u) << "no NoFabric beside";
  EXPECT_THAT(remedy_of(diagnosis.findings[0]), HasSubstr("waits for the subnet manager"));
}

TEST(Doctor, OfAStaleTablePodsGetNothing) {
  Fleet fleet = fleet_of(3, roce_node);
  fleet[1].time = kNow - std::chrono::hours(4);
  fleet[2].time = kNow + std::chrono::hours(4);  // as the webhook sees it
  for (const std::size_t node : {1, 2}) {
    const NodeState state = diagnose(fleet).nodes[node];
    EXPECT_EQ(state.reason, "StaleTable");
    EXPECT_THAT(state.hca_list, IsEmpty());
  }
}

TEST(Doctor, WithoutACauseOfItsOwnNoFabricHasTheReasonsRemedy) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.fabric.expect_ports = 9;
  Fleet fleet = fleet_of(20, roce_node);
  const Diagnosis diagnosis = diagnose(fleet, {policy});
  ASSERT_EQ(faults(diagnosis).size(), 1u);
  EXPECT_EQ(remedy_of(diagnosis.findings[0]), remedy(Reason::TooFewPorts));
}

TEST(Doctor, AGlobThatTakesTheManagementNicIsAFindingOfThePool) {
  NcclPolicy policy = policy_for("rdma/hca");
  policy.fabric.hcas = {"mlx5_*"};
  Fleet fleet = fleet_of(20, roce_node);
  const Diagnosis diagnosis = diagnose(fleet, {policy});
  EXPECT_THAT(faults(diagnosis), ElementsAre("warning ManagementInFabric pool-1 mlx5_0"));
  EXPECT_THAT(diagnosis.findings[0].sentence, HasSubstr("on all 20 nodes of the pool"));
  for (NodeFabric& node : fleet) node.node_interface.reset();
  EXPECT_THAT(faults(diagnose(fleet, {policy})), ElementsAre("warning ManagementInFabric pool-1 mlx5_0"))
      << "its rate tells it";
  for (NodeFabric& node : fleet) node.ports.back().rate_gbps = node.ports.front().rate_gbps;
  EXPECT_THAT(faults(diagnose(fleet, {policy})), IsEmpty()) << "nothing does";
  policy.fabric.hcas = {"mlx5_[1-8]"};
  EXPECT_THAT(faults(diagnose(fleet_of(20, roce_node), {policy})), IsEmpty());
  policy.fabric.hcas = {"mlx5_0"};
  EXPECT_THAT(faults(diagnose(fleet_of(20, roce_node), {policy})), IsEmpty()) << "named by itself";
}

TEST(Doctor, NodesWithoutRdmaAreOnlyToKnow) {
  Fleet fleet = fleet_of(20, roce_node);
  fleet[3].ports.clear();
  fleet[3].name = "login-3";
  NcclPolicy policy = policy_for("rdma/hca");
  policy.fabric.expect_ports = 8;
  EXPECT_THAT(faults(diagnose(fleet)), IsEmpty());
  EXPECT_THAT(faults(diagnose(fleet, {policy})), IsEmpty());
  EXPECT_THAT(faults(diagnose(Fleet{})), IsEmpty());
  for (NodeFabric& node : fleet) node.ports.clear();
  EXPECT_THAT(render_text(diagnose(fleet)), StartsWith("20 nodes, 0 pools: no table holds RDMA hardware\n"));
}

TEST(Doctor, TheTextNamesCheckNodeEvidenceAndRemedyWithin80Columns) {
  Fleet fleet = fleet_of(200, roce_node);
  fleet[17].ports[2].rate_gbps = 100;
  lead_astray(fleet[18].ports[2]);
  const std::string text = render_text(diagnose(fleet));
  tests::expect_golden(text);
  std::istringstream lines(text.substr(text.find('\n')));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Doctor, APoolIsNamedByItsHardwareAndItsFirstNodes) {
  Fleet fleet = fleet_of(20, roce_node);
  for (NodeFabric& node : fleet) {
    for (Port& port : node.ports) port.driver = port.board_id = std::nullopt;
  }
  tests::expect_golden(render_text(diagnose(fleet)));
  for (NodeFabric& node : fleet) {
    int rail = 0;
    for (Port& port : node.ports) port.hca = "rocep" + std::to_string(++rail) + "s0f0";
  }
  EXPECT_EQ(diagnose(fleet).pools[0].shape, "9 x Ethernet rocep*");
}

TEST(Doctor, TheJsonHasItsKeys) {
  Fleet fleet = fleet_of(5, roce_node);
  fleet[1].ports[2].rate_gbps = 100;
  const auto json = to_json(diagnose(fleet));
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["nodes"], 5);
  EXPECT_EQ(json["warnings"], 1);
  const auto& finding = json["findings"][0];
  EXPECT_EQ(finding["code"], "RateLow");
  EXPECT_EQ(finding["severity"], "warning");
  EXPECT_EQ(finding["subject"]["name"], "gpu-1");
  EXPECT_EQ(finding["subject"]["parts"][0], "mlx5_3");
  EXPECT_EQ(json["pools"][0]["nodes"].size(), 5u);
}

}  // namespace
}  // namespace nccl_env::doctor_test
