// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/ports.h"

#include <gmock/gmock.h>

#include <ctime>

#include "core/builders.h"

namespace nccl_env::tests::ports_test {
namespace {

std::string list(const NodeFabric& table, const FabricRule& rule = {}, Exposure exposure = Exposure::Host) {
  const PortChoice choice = choose_ports(table, rule, exposure, kNow);
  return choice.reason ? std::string(to_string(*choice.reason)) : format_hca_list(table, choice.ports);
}

NodeFabric with_management(int rail_count) {
  NodeFabric table = rails(rail_count);
  table.ports.insert(table.ports.begin(), roce_port("mlx5_0", "eth0", "10.0.60.3"));
  return table;
}

TEST(Ports, OneHcaThatIsAlsoTheNodeInterfaceStays) {
  NodeFabric table = rails(1);
  table.node_interface = "eth1";
  EXPECT_EQ(list(table), "=mlx5_1");
}

TEST(Ports, OfTwoPortsOnOneCardTheOneWithTheNodesAddressIsNoRailForCertain) {
  NodeFabric table = rails(2);
  table.node_interface = "eth1";
  EXPECT_EQ(list(table), "AmbiguousFabric") << "nothing says that these are two cards";
  table.ports[0].pci_address = "0000:53:00.0";
  table.ports[1].pci_address = "0000:53:00.1";
  EXPECT_EQ(list(table), "AmbiguousFabric");
  table.ports[1].state = PortState::Down;
  EXPECT_EQ(list(table), "AmbiguousFabric") << "the rail is down, and the other one is no rail for that";
  table.ports[1].pci_address = "0000:a1:00.0";
  EXPECT_EQ(list(table), "=mlx5_1");
  table.ports[0].sys_image_guid = table.ports[1].sys_image_guid = "b83f:d203:00b4:f5a2";
  EXPECT_EQ(list(table), "AmbiguousFabric") << "one card in two slots";
  table.ports[1].sys_image_guid = "b83f:d203:00b4:f5a3";
  EXPECT_EQ(list(table), "=mlx5_1");
  table.ports[1].pci_address = "0000:53:00.1";
  EXPECT_EQ(list(table), "AmbiguousFabric") << "one card, of which each port has an image of its own";
}

TEST(Ports, OfUnknownLinkLayersNoneIsChosenUnlessThePolicySaysWhich) {
  NodeFabric table;
  table.name = "node-a";
  for (int i = 0; i < 2; ++i) table.ports.emplace_back().hca = "mlx5_" + std::to_string(i);
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, kNow);
  EXPECT_EQ(choice.reason, Reason::AmbiguousFabric);
  EXPECT_EQ(choice.detail,
            "node-a: the table does not tell whether mlx5_0, mlx5_1 are InfiniBand or Ethernet, so what NCCL "
            "needs there is not known.");
  FabricRule named;
  named.hcas = {"mlx5_*"};
  EXPECT_EQ(list(table, named), "=mlx5_0,mlx5_1");
  FabricRule filtered;
  filtered.link_layer = LinkLayer::Ethernet;
  EXPECT_EQ(list(table, filtered), "=mlx5_0,mlx5_1");
  table.ports[0].link_layer = table.ports[1].link_layer = LinkLayer::InfiniBand;
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1");
}

TEST(Ports, ManagementNicOnTheNodeInterfaceIsDropped) {
  NodeFabric table = with_management(8);
  table.node_interface = "eth0";
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
}

TEST(Ports, ManagementNicBehindABondIsDropped) {
  NodeFabric table = with_management(4);
  table.node_interface = "bond0";
  table.interfaces = {{interface("eth0", "10.0.60.3", 24, true, "bond0")}};
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
}

TEST(Ports, NinePortsAlikeAndNoNodeInterfaceAreAmbiguous) {
  EXPECT_EQ(list(with_management(8)), "AmbiguousFabric");
}

TEST(Ports, EightRailsOfWhichOneCarriesTheNodeAddressAreAmbiguous) {
  NodeFabric table = rails(8);
  table.node_interface = "eth3";
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, EightRailsBesideAnUnrelatedNodeInterfaceAllStay) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
}

TEST(Ports, UnknownNetdevsCountLikeAnUnknownNodeInterface) {
  NodeFabric table = with_management(8);
  table.node_interface = "eth0";
  for (Port& port : table.ports) port.gids.reset();
  EXPECT_EQ(list(table), "AmbiguousFabric");
  table.ports.pop_back();
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7");
}

TEST(Ports, VfBesideItsPfIsDroppedAndAloneStays) {
  NodeFabric table = rails(2);
  table.ports[0].pci_address = "0000:53:00.0";
  table.ports[0].pf_pci_address = "";
  table.ports[1].pci_address = "0000:53:00.2";
  table.ports[1].pf_pci_address = "0000:53:00.0";
  EXPECT_EQ(list(table), "=mlx5_1");
  table.ports.erase(table.ports.begin());
  EXPECT_EQ(list(table), "=mlx5_2");
}

TEST(Ports, PfBesideItsLagIsDropped) {
  NodeFabric table = rails(1);
  Port lag = roce_port("mlx5_bond_0", "bond0", "25.11.9.2");
  lag.lag = "bond0";
  table.ports.push_back(lag);
  table.interfaces = {
      {interface("eth1", "25.11.1.2", 24, true, "bond0"), interface("bond0", "25.11.9.2", 24)}};
  EXPECT_EQ(list(table), "=mlx5_bond_0");
}

TEST(Ports, DualPortDeviceIsNamedWithItsPort) {
  NodeFabric table;
  table.name = "node-a";
  table.ports = {ib_port("mlx4_0"), ib_port("mlx4_0")};
  table.ports[1].number = 2;
  EXPECT_EQ(list(table), "=mlx4_0:1,mlx4_0:2");
  table.ports[0].state = PortState::Down;
  EXPECT_EQ(list(table), "=mlx4_0:2");
}

TEST(Ports, InfiniBandBesideOneEthernetPort) {
  NodeFabric table;
  table.name = "node-a";
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}) table.ports.push_back(ib_port(name));
  table.ports.push_back(roce_port("mlx5_an0", "eth0", "10.0.0.4"));
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
}

TEST(Ports, LinkLayerIsToldByTheFieldThenTheTransportThenTheRows) {
  Port port = roce_port("mlx5_0", "eth0", "10.0.0.1");
  port.link_layer = LinkLayer::Unspecified;
  EXPECT_EQ(link_layer_of(port), LinkLayer::Unspecified);
  port.link_layer.reset();
  port.gids.reset();
  const std::pair<Transport, LinkLayer> transports[] = {{Transport::InfiniBand, LinkLayer::InfiniBand},
                                                        {Transport::RoCE, LinkLayer::Ethernet},
                                                        {Transport::iWARP, LinkLayer::Ethernet},
                                                        {Transport::eRDMA, LinkLayer::Ethernet}};
  for (const auto& [transport, layer] : transports) {
    port.transport = transport;
    EXPECT_EQ(link_layer_of(port), layer);
  }
  port.transport.reset();
  EXPECT_EQ(link_layer_of(port), std::nullopt);
  GidRow row;
  port.gids = std::vector<GidRow>{row};
  EXPECT_EQ(link_layer_of(port), std::nullopt) << "a row without a type";
  row.type = GidType::IB;
  port.gids->push_back(row);
  EXPECT_EQ(link_layer_of(port), LinkLayer::InfiniBand);
  row.type = GidType::RoCEv2;
  port.gids->push_back(row);
  EXPECT_EQ(link_layer_of(port), LinkLayer::Ethernet) << "the row before may have been RoCE v1";
}

TEST(Ports, NamedPortsOfTwoLinkLayersAreMixed) {
  NodeFabric table = rails(1);
  table.ports.push_back(ib_port("mlx5_9"));
  FabricRule rule;
  rule.hcas = {"mlx5_*"};
  EXPECT_EQ(list(table, rule), "MixedLinkLayers");
  rule.link_layer = LinkLayer::InfiniBand;
  EXPECT_EQ(list(table, rule), "=mlx5_9");
}

TEST(Ports, OneRailAtHalfRateOfTheSameBoardStays) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  table.ports[4].rate_gbps = 100;
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
}

TEST(Ports, AFlapOfTwoMinutesCostsNoRail) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  for (Port& port : table.ports) port.board_id.reset();
  table.ports[4].state = PortState::Down;
  table.ports[4].rate_gbps = 10;  // what IB ports report while they are down
  table.ports[4].state_since = kNow - std::chrono::minutes(2);
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, kNow);
  EXPECT_EQ(choice.valid_until, kNow + std::chrono::minutes(8));
}

TEST(Ports, APortDownForTenMinutesOrSinceUnknownIsDropped) {
  NodeFabric table = rails(2);
  table.ports[0].state = PortState::Down;
  table.ports[0].state_since = kNow - std::chrono::minutes(10);
  EXPECT_EQ(list(table), "=mlx5_2");
  table.ports[0].state_since.reset();
  EXPECT_EQ(list(table), "=mlx5_2");
}

constexpr std::string_view kEightDown =
    "node-a: the fabric (8 x Ethernet mlx5_core MT_0000000223) is down: "
    "mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8.";

TEST(Ports, AFabricThatIsDownIsNotTheManagementNic) {
  for (const char* board : {"MT_0000000223", "MT_MANAGEMENT"}) {
    for (const auto& since : {std::optional(kNow - std::chrono::hours(2)), std::optional<Timestamp>()}) {
      NodeFabric table = with_management(8);
      table.node_interface = "eth0";
      table.ports[0].board_id = board;
      for (std::size_t i = 1; i < table.ports.size(); ++i) {
        table.ports[i].state = PortState::Down;
        table.ports[i].state_since = since;
        table.ports[i].rate_gbps = 40;  // what the driver falls back to
        table.ports[i].max_rate_gbps = 200;
      }
      for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
        const PortChoice choice = choose_ports(table, {}, exposure, kNow);
        EXPECT_EQ(choice.reason, Reason::NoFabricPort);
        EXPECT_EQ(choice.detail, kEightDown);
        EXPECT_EQ(choice.fabric.size(), 8u);
        EXPECT_TRUE(choice.verdicts[1].of_fabric);
        EXPECT_FALSE(choice.verdicts[1].fabric || choice.verdicts[0].of_fabric);
      }
    }
  }
}

TEST(Ports, OfAFabricThatIsHalfDownTheOthersAreListed) {
  for (const char* board : {"MT_0000000223", "MT_MANAGEMENT"}) {
    NodeFabric table = with_management(8);
    table.node_interface = "eth0";
    table.ports[0].board_id = board;
    for (std::size_t i = 1; i <= 5; ++i) table.ports[i].state = PortState::Down;
    EXPECT_EQ(list(table), "=mlx5_6,mlx5_7,mlx5_8") << "no usual number, and no matter";
    FabricRule rule;
    rule.expect_ports = 8;
    EXPECT_EQ(choose_ports(table, rule, Exposure::Host, kNow).detail,
              "node-a: 3 fabric ports, the policy expects 8; down: mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5.");
  }
}

TEST(Ports, OfInfiniBandRailsFewerThanExpectedAreTooFewAndNotAmbiguous) {
  NodeFabric table = with_management(8);
  table.ports.erase(table.ports.begin(), table.ports.begin() + 2);
  for (Port& port : table.ports) {
    port.link_layer = LinkLayer::InfiniBand;
    port.transport = Transport::InfiniBand;
  }
  EXPECT_EQ(list(table), "AmbiguousFabric") << "7 is no usual number";
  FabricRule rule;
  rule.expect_ports = 8;
  EXPECT_EQ(choose_ports(table, rule, Exposure::Host, kNow).detail,
            "node-a: 7 fabric ports, the policy expects 8.");
}

TEST(Ports, AFabricOfFewFastPortsIsNotOutweighedWhileItIsDown) {
  NodeFabric table = rails(2);  // 2 x 400 beside 4 x 100
  for (Port& port : table.ports) {
    port.rate_gbps = 10;
    port.max_rate_gbps = 400;
    port.state = PortState::Down;
  }
  for (int i = 5; i < 9; ++i) {
    table.ports.push_back(roce_port("mlx5_" + std::to_string(i), "sto" + std::to_string(i), "10.9.0.3"));
    table.ports.back().rate_gbps = 100;
    table.ports.back().board_id = "MT_STORAGE";
  }
  table.node_interface = "eno1";
  EXPECT_EQ(list(table), "NoFabricPort");
  table.ports[1].max_rate_gbps.reset();
  EXPECT_EQ(list(table), "NoFabricPort") << "its neighbour on the same board tells its rate";
  table.ports[0].max_rate_gbps.reset();
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, kNow);
  EXPECT_EQ(choice.reason, Reason::AmbiguousFabric) << "neither has been up since the node booted";
  EXPECT_NE(choice.detail.find("; the rate of mlx5_1, mlx5_2 is not known"), std::string::npos)
      << choice.detail;
}

TEST(Ports, PortsThatWereNeverUpDoNotHideAFabricThatOutweighsThemAtAnyRate) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  for (const char* name : {"mlx5_20", "mlx5_21"}) {
    table.ports.push_back(roce_port(name, name, "10.9.0.3"));
    table.ports.back().board_id = "MT_STORAGE";
    table.ports.back().state = PortState::Down;
  }
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
  table.ports.erase(table.ports.begin(), table.ports.begin() + 6);
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, OfOneDriverWithoutBoardPortsThatWereNeverUpAreNotTheKindOfThoseThatAre) {
  NodeFabric table = rails(4);
  table.node_interface = "eno1";
  for (Port& port : table.ports) port.board_id.reset();
  for (std::size_t i = 0; i < 2; ++i) table.ports[i].state = PortState::Down;
  EXPECT_EQ(list(table), "AmbiguousFabric") << "storage NICs that came up before the fabric";
  for (std::size_t i = 0; i < 2; ++i) table.ports[i].max_rate_gbps = 200;
  EXPECT_EQ(list(table), "=mlx5_3,mlx5_4");
}

TEST(Ports, APortThatWasNeverUpIsOfTheKindOfItsCardsOtherPort) {
  NodeFabric table = rails(4);  // two cards, of each one port is cabled
  table.node_interface = "eno1";
  for (Port& port : table.ports) port.board_id.reset();
  for (const std::size_t down : {0U, 2U}) table.ports[down].state = PortState::Down;
  EXPECT_EQ(list(table), "AmbiguousFabric");
  constexpr const char* kAddresses[] = {"0000:4b:00.0", "0000:4b:00.1", "0000:ce:00.0", "0000:ce:00.1"};
  for (std::size_t i = 0; i < 4; ++i) table.ports[i].pci_address = kAddresses[i];
  EXPECT_EQ(list(table), "=mlx5_2,mlx5_4");
  table.ports[2].pci_address = "0000:da:00.0";
  EXPECT_EQ(list(table), "AmbiguousFabric") << "one of the two that are down is on a card of its own";
}

TEST(Ports, AQuestionAboutSmallKindsDoesNotHideAFabricThatOutweighsAllOfThem) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  for (const char* name : {"irdma0", "irdma1"}) {  // on the mainboard, the second not cabled
    Port& port = table.ports.emplace_back(roce_port(name, name, "10.9.0.3"));
    port.driver = "irdma";
    port.board_id.reset();
    port.rate_gbps = 100;
  }
  table.ports.back().state = PortState::Down;
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
  table.ports.erase(table.ports.begin(), table.ports.begin() + 4);
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, kNow);
  EXPECT_EQ(choice.reason, Reason::AmbiguousFabric) << "800 beside 100 and at most 400";
  EXPECT_EQ(
      choice.detail,
      "node-a: too little is known of irdma1, of which none has been up, to tell whether it belongs to 1 x "
      "Ethernet irdma (irdma0).");
}

TEST(Ports, WithoutAnyRatePortsThatAreDownDoNotOutweighOnesThatAreUp) {
  NodeFabric table = rails(4);  // one is up: a spare card of the mainboard, or a fabric that fails
  table.node_interface = "eno1";
  table.ports.push_back(ib_port("mlx5_9"));
  for (Port& port : table.ports) port.rate_gbps.reset();
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  for (std::size_t i = 1; i < 4; ++i) table.ports[i].state = PortState::Down;
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, TheManagementNicIsNotTheFabricBecauseAnotherKindHasLostItsAddress) {
  NodeFabric table = rails(2);
  table.ports[0].board_id = "MT_MANAGEMENT";
  table.node_interface = "eth1";
  table.ports[1].gids->resize(2);
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, NamedPortsOfTwoLinkLayersAreMixedWhicheverAreUp) {
  NodeFabric table = rails(1);
  table.ports.push_back(ib_port("mlx5_9"));
  table.ports[1].state = PortState::Down;
  FabricRule rule;
  rule.hcas = {"mlx5_*"};
  EXPECT_EQ(list(table, rule), "MixedLinkLayers");
}

TEST(Ports, InfiniBandIsBelievedInUsualNumbersOnly) {
  NodeFabric table = rails(0);
  for (int i = 0; i < 10; ++i) table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  EXPECT_EQ(list(table), "AmbiguousFabric") << "eight rails and two ports of the storage network";
  table.ports[9].state = table.ports[8].state = PortState::Down;
  EXPECT_EQ(list(table), "AmbiguousFabric") << "a port that is down counts";
  FabricRule rule;
  rule.expect_ports = 10;
  EXPECT_EQ(list(table, rule), "TooFewPorts") << "counted by the policy";
  rule.expect_ports.reset();
  rule.hcas = {"mlx5_[0-7]"};
  EXPECT_EQ(list(table, rule), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7");
  EXPECT_EQ(choose_ports(table, {}, Exposure::PodOwned, kNow).ports.size(), 8u)
      << "a pod may have asked for any number";
  table.ports.resize(8);
  table.ports[3].state = PortState::Down;
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7");
}

TEST(Ports, TheMinimumRateIsOfThePortAndThenOfItsState) {
  NodeFabric table = rails(8);
  table.node_interface = "eno1";
  FabricRule rule;
  rule.min_rate_gbps = 100;
  table.ports[2].rate_gbps = 50;
  table.ports[2].max_rate_gbps = 200;
  const PortChoice choice = choose_ports(table, rule, Exposure::Host, kNow);
  EXPECT_EQ(choice.ports.size(), 7u);
  EXPECT_EQ(choice.fabric.size(), 8u);
}

// 128 members of a bond beside 128 devices that are LAGs of it, all rows and all interfaces that a table may
// hold.
NodeFabric largest_table() {
  NodeFabric table;
  table.name = "node-a";
  table.interfaces.emplace();
  for (int i = 0; i < 1024; ++i) {
    const std::string name = "e" + std::to_string(i);
    table.interfaces->push_back(interface(name, "10.1." + std::to_string(i / 250) + ".1", 24, true, "bond0"));
  }
  for (int i = 0; i < 256; ++i) {
    Port port = roce_port("mlx5_" + std::to_string(i), "e0", "10.0.0.1");
    port.gids->clear();
    for (int index = 0; index < 16; ++index) {
      const std::string netdev = "e" + std::to_string((i * 16 + index) % 1024);
      port.gids->push_back(row(index, v4("10.2.0." + std::to_string(index)), GidType::RoCEv2, netdev));
    }
    if (i >= 128) port.lag = "bond" + std::to_string(i);  // nobody's master: no pair ends the search
    port.board_id = "MT_" + std::to_string(i % 64);
    port.pf_pci_address = "0000:00:00.0";
    table.ports.push_back(port);
  }
  table.node_interface = "e7";
  return table;
}

TEST(Ports, TheLargestTableIsJudgedByLookUpsAndNotBySearches) {
  const NodeFabric table = largest_table();
  FabricRule rule;
  rule.hcas = {"mlx5_*"};
  const std::clock_t begin = std::clock();
  EXPECT_EQ(list(table, rule), "TooManyHcas");
  choose_ports(table, {}, Exposure::Host, kNow);
  choose_ports(table, {}, Exposure::SubInterface, kNow);
  // 128 x 128 pairs by 16 rows by 1024 interfaces took minutes of unoptimized code; 20 ms each are the aim of
  // optimized code, and sanitizers take tenfold.
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2.0);
}

TEST(Ports, SoftDevicesCountOnlyWhereAPolicyNamesThem) {
  NodeFabric table;
  table.name = "vm";
  table.ports = {roce_port("rxe0", "ens3", "10.0.0.5")};
  table.ports[0].driver.reset();
  EXPECT_EQ(list(table), "NoFabricPort");
  FabricRule rule;
  rule.hcas = {"rxe*"};
  EXPECT_EQ(list(table, rule), "=rxe0");
}

TEST(Ports, RoceWithoutUsableRowIsDroppedUnderHostOnly) {
  NodeFabric table = rails(2);
  table.ports[1].gids->resize(2);
  EXPECT_EQ(list(table), "=mlx5_1");
  EXPECT_EQ(list(table, {}, Exposure::SubInterface), "=mlx5_1,mlx5_2");
}

TEST(Ports, RowsThatAreNotKnownDropNothing) {
  NodeFabric table = rails(2);
  table.ports[1].gids.reset();
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2");
}

TEST(Ports, NamesAreSortedByNumberAndFoldedCase) {
  NodeFabric table = rails(0);
  for (const char* name : {"mlx5_10", "mlx5_9", "mlx5_100", "mlx5_2"}) table.ports.push_back(ib_port(name));
  EXPECT_EQ(list(table), "=mlx5_2,mlx5_9,mlx5_10,mlx5_100");
}

TEST(Ports, PciOrderWinsWhereItIsKnownForAll) {
  NodeFabric table = rails(0);
  const char* addresses[] = {"0000:d2:00.0", "0000:53:00.0", "0000:a1:00.0", "0000:b1:00.0"};
  for (int i = 0; i < 4; ++i) {
    table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
    table.ports.back().pci_address = addresses[i];
  }
  EXPECT_EQ(list(table), "=mlx5_1,mlx5_2,mlx5_3,mlx5_0");
  table.ports[2].pci_address.reset();
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
}

TEST(Ports, TheWinnerHasTwiceTheNext) {
  NodeFabric table = rails(0);
  for (int i = 0; i < 4; ++i) table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  for (int i = 4; i < 6; ++i) {
    table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
    table.ports.back().board_id = "MT_STORAGE";
  }
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  table.ports.push_back(ib_port("mlx5_6"));
  table.ports.back().board_id = "MT_STORAGE";
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, APartlyUnknownPortJoinsTheOneGroupItFits) {
  NodeFabric table = rails(0);
  for (int i = 0; i < 4; ++i) table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  table.ports[3].board_id.reset();
  EXPECT_EQ(list(table), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  table.ports[2].board_id = "MT_OTHER";
  EXPECT_EQ(list(table), "AmbiguousFabric");
}

TEST(Ports, NeverMoreThan32) {
  NodeFabric table = rails(0);
  for (int i = 0; i < 64; ++i) table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  EXPECT_EQ(list(table), "TooManyHcas");
}

TEST(Ports, FewerThanExpected) {
  FabricRule rule;
  rule.expect_ports = 3;
  EXPECT_EQ(list(rails(2), rule), "TooFewPorts");
}

TEST(Ports, SubnetsAndNetdevsNamePorts) {
  FabricRule rule;
  rule.subnets = {*parse_cidr("25.11.2.0/24")};
  EXPECT_EQ(list(rails(4), rule), "=mlx5_2");
  rule.subnets.clear();
  rule.netdevs = {"eth[34]"};
  EXPECT_EQ(list(rails(4), rule), "=mlx5_3,mlx5_4");
  NodeFabric table = rails(4);
  table.ports[3].gids.reset();  // its netdev is not known, so it is not known to match
  EXPECT_EQ(list(table, rule), "=mlx5_3");
}

TEST(Ports, ThePolicysWordThatMatchesNothingIsNamed) {
  const auto detail = [](const FabricRule& rule) {
    return choose_ports(rails(4), rule, Exposure::Host, kNow).detail;
  };
  FabricRule rule;
  rule.subnets = {*parse_cidr("25.99.2.0/24")};
  EXPECT_THAT(detail(rule), ::testing::HasSubstr("match the policy's subnets (25.99.2.0/24)"));
  rule.netdevs = {"ib*"};
  EXPECT_THAT(detail(rule), ::testing::HasSubstr("no match for the policy's netdevs (ib*)"));
  rule.hcas = {"mlx4_.*", "a", "b"};
  EXPECT_THAT(detail(rule), ::testing::HasSubstr("no match for the policy's hcas (mlx4_.*, a and 1 more)"));
}

TEST(Ports, FiltersPassWhatIsUnknown) {
  NodeFabric table = rails(3);
  table.node_interface = "eno1";
  table.ports[0].rate_gbps = 25;
  table.ports[1].rate_gbps.reset();
  FabricRule rule;
  rule.min_rate_gbps = 100;
  EXPECT_EQ(list(table, rule), "=mlx5_2,mlx5_3");
  rule.exclude_hcas = {"mlx5_3"};
  EXPECT_EQ(list(table, rule), "=mlx5_2");
}

TEST(Ports, PathNamesOfOneKindFormOneGroup) {
  NodeFabric table = rails(0);
  for (const char* name : {"roceP2p1s0f1", "rocep1s0f1"}) {
    table.ports.push_back(roce_port(name, name, "10.1.1.1"));
    table.ports.back().driver.reset();
    table.ports.back().board_id.reset();
    table.ports.back().rate_gbps.reset();
  }
  EXPECT_EQ(list(table), "=rocep1s0f1,roceP2p1s0f1");
}

TEST(Ports, EveryPortHasAVerdict) {
  NodeFabric table = with_management(2);
  table.ports[1].state = PortState::Down;
  const PortChoice choice = choose_ports(table, {}, Exposure::Host, kNow);
  ASSERT_EQ(choice.verdicts.size(), 3u);
  EXPECT_FALSE(choice.verdicts[1].fabric);
  EXPECT_EQ(choice.verdicts[1].why, "Down, since when is not known");
}

struct RowCase {
  const char* name;
  GidRow row;
  const char* why;
};

TEST(Rows, UsableMeansARoutableRoceV2AddressOnAnUpInterface) {
  NodeFabric table = rails(1);
  table.interfaces = {{interface("eth1", "25.11.1.2", 24), interface("eth2", "25.11.2.2", 24, false),
                       interface("slave0", "0.0.0.1", 32, true, "bond0"),
                       interface("bond0", "25.11.3.2", 24)}};
  const RowCase cases[] = {
      {"usable", row(3, v4("25.11.1.2"), GidType::RoCEv2, "eth1"), "usable"},
      {"v1", row(2, v4("25.11.1.2"), GidType::RoCEv1, "eth1"), "RoCEv1, not RoCE v2"},
      {"zero", row(0, Gid{}, GidType::RoCEv2, "eth1"), "an empty row"},
      {"link-local", row(1, gid("fe80::1"), GidType::RoCEv2, "eth1"), "link-local"},
      {"169.254", row(3, v4("169.254.3.4"), GidType::RoCEv2, "eth1"), "169.254.0.0/16 is link-local"},
      {"down", row(3, v4("25.11.2.2"), GidType::RoCEv2, "eth2"), "eth2 is down"},
      {"another namespace's address", row(5, v4("25.11.1.77"), GidType::RoCEv2, "eth1"),
       "25.11.1.77 is not an address of eth1"},
      {"on the master", row(3, v4("25.11.3.2"), GidType::RoCEv2, "slave0"), "usable"},
      {"unknown interface", row(3, v4("25.11.8.2"), GidType::RoCEv2, "eth9"), "usable"},
  };
  const InterfaceIndex interfaces(table);
  for (const RowCase& test : cases) EXPECT_EQ(judge_row(interfaces, test.row, {}).why, test.why) << test.name;
}

TEST(HcaList, IsPlainWhereNoNameIsTheBeginningOfAnothers) {
  NodeFabric table = rails(11);  // mlx5_1 to mlx5_11
  const auto some = [&](std::initializer_list<std::size_t> places) {
    std::vector<const Port*> ports;
    for (const std::size_t place : places) ports.push_back(&table.ports[place]);
    return ports;
  };
  EXPECT_EQ(plain_hca_list(table, some({1, 2})), "mlx5_2,mlx5_3");
  EXPECT_EQ(plain_hca_list(table, some({0, 1})), std::nullopt) << "mlx5_1 takes mlx5_10";
  EXPECT_EQ(plain_hca_list(table, some({0, 9, 10})), "mlx5_1,mlx5_10,mlx5_11") << "which is meant";
  table.ports[9].state = PortState::Down;
  EXPECT_EQ(plain_hca_list(table, some({0, 10})), std::nullopt) << "a port that is down may come up";
  table.ports[9].pf_pci_address = "0000:10:00.0";
  EXPECT_EQ(plain_hca_list(table, some({1, 2})), std::nullopt) << "names of VFs come and go";
}

TEST(HcaList, IsComparedByItsPorts) {
  const NodeFabric few = rails(2), many = rails(10);
  EXPECT_TRUE(same_hca_list("=mlx5_1,mlx5_2", "mlx5_2,mlx5_1", few));
  EXPECT_FALSE(same_hca_list("=mlx5_1,mlx5_2", "=mlx5_1", few));
  EXPECT_FALSE(same_hca_list("=mlx5_1", "mlx5_1", many)) << "the plain one takes mlx5_10";
  EXPECT_TRUE(same_hca_list("=mlx5_2", "mlx5_2", many));
  EXPECT_FALSE(same_hca_list("^mlx5_1", "mlx5_1", few));
  EXPECT_FALSE(same_hca_list("=mlx5_1,mlx5_9", "=mlx5_1", few)) << "a device that is gone was meant";
}

}  // namespace
}  // namespace nccl_env::tests::ports_test
