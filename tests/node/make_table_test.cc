// SPDX-License-Identifier: Apache-2.0
// The join of devices and interfaces.
#include <nlohmann/json.hpp>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/node/make_table.h"
#include "support/matchers.h"

namespace nccl_env::node::make_table_test {
namespace {

using namespace nccl_env::tests;

Netdev netdev(const std::string& name, unsigned index, const std::vector<std::string>& addresses = {},
              unsigned master = 0, const std::string& kind = "") {
  Netdev made;
  made.name = name;
  made.index = index;
  made.master = master;
  made.kind = kind;
  made.mtu = 4200;
  made.up = made.running = true;
  made.mac = {{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(index)}};
  made.addresses.emplace();
  for (const std::string& text : addresses) {
    const Cidr cidr = *parse_cidr(text);
    made.addresses->push_back({cidr.address, cidr.prefix});
  }
  return made;
}

// `where`: a name as sysfs gives it, or an index as verbs does.
GidEntry entry(int index, const std::string& gid, GidType type, const std::string& where) {
  return {index, *parse_gid(gid), type, where, {}};
}
GidEntry entry(int index, const std::string& gid, GidType type, unsigned where) {
  return {index, *parse_gid(gid), type, {}, where};
}

RdmaDevice roce(const std::string& name, std::vector<GidEntry> rows,
                const std::vector<std::string>& netdevs = {}) {
  RdmaDevice device;
  device.shared.hca = name;
  device.node_type = 1;
  device.shared.driver = "mlx5_core";
  for (const std::string& each : netdevs) device.netdevs.push_back({each, 0});
  DevicePort& port = device.ports.emplace_back();
  port.link_layer = LinkLayer::Ethernet;
  port.state = PortState::Active;
  port.rate_gbps = 100;
  port.gid_table_length = 255;
  port.entries = std::move(rows);
  return device;
}

// Gives each port what all ports of its device have in common, as read_devices() does.
void share(RdmaDevice& device) {
  for (DevicePort& port : device.ports) {
    port.hca = device.shared.hca;
    port.driver = device.shared.driver;
    port.pci_address = device.shared.pci_address;
    port.pf_pci_address = device.shared.pf_pci_address;
  }
}

struct Made {
  NodeFabric table;
  Problems problems;
};

class TableOf {
 public:
  TableOf(std::vector<RdmaDevice> devices, std::vector<Netdev> netdevs) : devices_(std::move(devices)) {
    netdevs_.all = std::move(netdevs);
    for (RdmaDevice& device : devices_) share(device);
  }
  Netdevs& netdevs() { return netdevs_; }
  std::map<std::string, double> speeds;
  std::optional<IpAddress> node_address;
  bool all_interfaces = false;

  [[nodiscard]] Made make() const {
    Made made;
    const auto speed = [&](const std::string& name) {
      const auto found = speeds.find(name);
      return found == speeds.end() ? std::nullopt : std::optional(found->second);
    };
    made.table = make_table({devices_, netdevs_, speed, node_address, all_interfaces}, made.problems);
    made.table.name = "n";
    // Whatever it is made of, it can be read.
    const auto read = parse_node_fabric(nlohmann::json::parse(to_json(made.table).dump()));
    EXPECT_TRUE(read.ok()) << read.error().message;
    return made;
  }
  [[nodiscard]] NodeFabric table() const {
    Made made = make();
    EXPECT_THAT(made.problems, IsEmpty());
    return std::move(made.table);
  }

 private:
  std::vector<RdmaDevice> devices_;
  Netdevs netdevs_;
};

std::vector<int> indexes(const Port& port) {
  std::vector<int> found;
  for (const GidRow& row : *port.gids) found.push_back(row.index);
  return found;
}

const std::vector<GidEntry> kUsual = {entry(0, "fe80::ff:fe00:3", GidType::RoCEv1, "eth1"),
                                      entry(1, "fe80::ff:fe00:3", GidType::RoCEv2, "eth1"),
                                      entry(2, "::ffff:10.1.0.2", GidType::RoCEv1, "eth1"),
                                      entry(3, "::ffff:10.1.0.2", GidType::RoCEv2, "eth1")};

const RdmaDevice kHca = roce("mlx5_1", kUsual, {"eth1"});

TEST(Table, ThePlainCase) {
  const NodeFabric table =
      TableOf({kHca}, {netdev("eth0", 2, {"10.0.0.2/24"}), netdev("eth1", 3, {"10.1.0.2/24"})}).table();
  const Port& port = table.ports.at(0);
  EXPECT_EQ(port.transport, Transport::RoCE);
  EXPECT_EQ(port.netdev, "eth1");
  EXPECT_EQ(port.lag, "");
  EXPECT_EQ(indexes(port), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(format_ip(*port.gids->at(3).address), "10.1.0.2");
  EXPECT_FALSE(port.gids->at(1).address);
  ASSERT_EQ(table.interfaces->size(), 2u);
  EXPECT_EQ(table.interfaces->at(1).name, "eth1");
  EXPECT_EQ(table.interfaces->at(1).mtu, 4200);
}

// A pod's sub-interface has rows in the node's table, with a name and an index of its own namespace.
TEST(Table, RowsOfPodsAreLeftOut) {
  auto rows = kUsual;
  rows.push_back(entry(4, "::ffff:10.20.0.5", GidType::RoCEv2, "net1"));  // no such interface here
  rows.push_back(entry(5, "::ffff:10.20.0.6", GidType::RoCEv2, "eth1"));  // the pod's eth1, not ours
  rows.push_back(entry(6, "::ffff:10.20.0.7", GidType::RoCEv2, 3u));      // the pod's index 3, not ours
  rows.push_back(entry(7, "::ffff:10.1.0.2", GidType::RoCEv2, 99u));      // our address, their interface
  rows.push_back(entry(8, "fe80::1234", GidType::RoCEv2, "eth1"));        // another's link-local
  rows.push_back({9, *parse_gid("::ffff:10.1.0.2"), {}, "eth1", {}});     // type not readable
  rows.push_back({10, *parse_gid("::ffff:10.1.0.2"), GidType::RoCEv2, {}, {}});  // interface not readable
  rows.push_back(entry(11, "2001:db8::2", GidType::RoCEv2, 3u));
  const NodeFabric table =
      TableOf({roce("mlx5_1", rows, {"eth1"})}, {netdev("eth1", 3, {"10.1.0.2/24", "2001:db8::2/64"})})
          .table();
  EXPECT_EQ(indexes(table.ports.at(0)), (std::vector{0, 1, 2, 3, 11}));
}

// rdma-lab: inside a pod the host's rows look as if they were of the pod's own eth0.
TEST(Table, InAPodOnlyItsOwnAddressCounts) {
  const std::vector<GidEntry> rows = {entry(2, "::ffff:10.0.0.2", GidType::RoCEv2, 2u),
                                      entry(7, "::ffff:10.20.0.5", GidType::RoCEv2, 5u)};
  const NodeFabric table = TableOf({roce("mlx5_0", rows)}, {netdev("eth0", 2, {"10.244.1.7/24"}),
                                                            netdev("net1", 5, {"10.20.0.5/24"})})
                               .table();
  EXPECT_EQ(indexes(table.ports.at(0)), (std::vector{7}));
  EXPECT_EQ(table.ports[0].gids->at(0).netdev, "net1");
}

TEST(Table, WithoutInterfacesRowsAreNotKnownExceptOfACopy) {
  TableOf maker({roce("mlx5_1", kUsual)}, {});
  const Made made = maker.make();
  EXPECT_FALSE(made.table.ports.at(0).gids);
  EXPECT_FALSE(made.table.interfaces);
  EXPECT_THAT(made.problems, ElementsAre(HasSubstr("mlx5_1")));
  maker.netdevs().live = false;
  EXPECT_EQ(indexes(maker.table().ports.at(0)), (std::vector{0, 1, 2, 3}));
}

// VRF: the address may stand on the master, the row on its member.
TEST(Table, AnAddressOfTheMasterIsOurs) {
  const NodeFabric table = TableOf({roce("mlx5_1", {entry(3, "::ffff:10.1.0.2", GidType::RoCEv2, "eth1")})},
                                   {netdev("eth1", 3, {}, 9), netdev("vrf1", 9, {"10.1.0.2/24"}, 0, "vrf")})
                               .table();
  EXPECT_EQ(indexes(table.ports.at(0)), (std::vector{3}));
  EXPECT_EQ(table.interfaces->size(), 2u);
  EXPECT_EQ(InterfaceIndex(table).find("eth1")->master, "vrf1");
  EXPECT_EQ(table.ports[0].lag, "");  // no bond
}

TEST(Table, InfiniBandAndIWarpRowsBelongToNoInterface) {
  RdmaDevice ib =
      roce("mlx5_0", {{0, *parse_gid("fe80::b83f:d203:b4:f5a2"), GidType::IB, {}, {}}}, {"ib0", "ib0.8001"});
  ib.ports[0].link_layer = LinkLayer::InfiniBand;
  RdmaDevice iwarp = roce("siw0", {{0, *parse_gid("5254:ff:fe00:10::"), GidType::IB, {}, {}}});
  iwarp.node_type = 4;
  RdmaDevice erdma = roce("rocep26s0", {{0, *parse_gid("216:3eff:fe10:f8b0::"), GidType::IB, {}, {}}});
  erdma.node_type = 4;
  erdma.shared.driver = "erdma";
  RdmaDevice efa = roce("rdmap0s6", {});
  efa.node_type = 7;
  efa.ports[0].link_layer = LinkLayer::Unspecified;
  const NodeFabric table =
      TableOf({ib, iwarp, erdma, efa}, {netdev("eth0", 2), netdev("ib0", 3), netdev("ib0.8001", 4)}).table();
  EXPECT_EQ(table.ports[0].transport, Transport::InfiniBand);
  EXPECT_EQ(table.ports[0].netdev, "ib0");
  EXPECT_EQ(table.ports[1].transport, Transport::iWARP);
  EXPECT_EQ(table.ports[2].transport, Transport::eRDMA);
  EXPECT_FALSE(table.ports[3].transport);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(indexes(table.ports[i]), (std::vector{0})) << i;
}

TEST(Table, ALagIsTheOneDeviceWhoseRowsAreTheBonds) {
  const GidEntry of_bond = entry(1, "::ffff:10.1.0.2", GidType::RoCEv2, "bond0");
  const GidEntry of_leg = entry(2, "::ffff:10.9.0.2", GidType::RoCEv2, "eth1");
  const std::string address = "10.1.0.2/24", leg_address = "10.9.0.2/24";
  struct Case {
    const char* name;
    std::vector<RdmaDevice> devices;
    std::vector<std::string> leg, bond;  // addresses
    const char* lag;
    double rate;
  };
  const Case cases[] = {
      {"rows of the bond", {roce("mlx5_bond_0", {of_bond}, {"eth1"})}, {}, {address}, "bond0", 200},
      {"no address: by its name", {roce("mlx5_bond_0", {}, {"eth1"})}, {}, {}, "bond0", 200},
      {"two devices on its legs",
       {roce("mlx5_0", {of_bond}, {"eth1"}), roce("mlx5_1", {of_bond}, {"eth2"})},
       {},
       {address},
       "",
       100},
      // rdma-lab, "Bond": it has the bond's rows, and what is left of its own.
      {"a soft device on one leg",
       {roce("rxe1", {of_bond, of_leg}, {"eth1"})},
       {leg_address},
       {address},
       "",
       100},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    TableOf maker(each.devices, {netdev("eth1", 3, each.leg, 9), netdev("eth2", 4, {}, 9),
                                 netdev("bond0", 9, each.bond, 0, "bond")});
    maker.speeds = {{"bond0", 200}, {"eth1", 100}, {"eth2", 100}};
    const NodeFabric table = maker.table();
    EXPECT_EQ(table.ports.at(0).netdev, "eth1");
    for (const Port& port : table.ports) {
      EXPECT_EQ(port.lag, each.lag);
      EXPECT_EQ(port.rate_gbps, each.rate);
    }
  }
}

TEST(Table, PortsOfOneFunctionHaveTheirOwnInterfaces) {
  RdmaDevice device = roce("mlx4_0", {});
  device.netdevs = {{"eth2", 0}, {"eth3", 1}};
  device.ports.push_back(device.ports[0]);
  device.ports[1].number = 2;
  const NodeFabric table = TableOf({device}, {netdev("eth2", 2), netdev("eth3", 3)}).table();
  EXPECT_EQ(table.ports[0].netdev, "eth2");
  EXPECT_EQ(table.ports[1].netdev, "eth3");
}

TEST(Table, BesideRepresentorsTheRowsNameTheInterface) {
  const NodeFabric table =
      TableOf({roce("mlx5_1", kUsual, {"eth1", "eth1_0", "eth1_1"})},
              {netdev("eth1", 3, {"10.1.0.2/24"}), netdev("eth1_0", 4), netdev("eth1_1", 5)})
          .table();
  EXPECT_EQ(table.ports.at(0).netdev, "eth1");
  EXPECT_EQ(table.interfaces->size(), 1u);
  const NodeFabric without =
      TableOf({roce("mlx5_1", {}, {"eth1", "eth1_0"})}, {netdev("eth1", 3), netdev("eth1_0", 4)}).table();
  EXPECT_EQ(without.ports.at(0).netdev, std::nullopt);
}

TEST(Table, OnEthernetTheInterfacesSpeedBeatsTheRate) {
  TableOf maker({roce("bnxt_re0", kUsual, {"eth1"})}, {netdev("eth1", 3, {"10.1.0.2/24"})});
  EXPECT_EQ(maker.table().ports.at(0).rate_gbps, 100);
  maker.speeds = {{"eth1", 400}};
  EXPECT_EQ(maker.table().ports.at(0).rate_gbps, 400);
}

TEST(Table, TheNodeInterfaceCarriesTheNodesAddress) {
  TableOf maker({}, {netdev("lo", 1, {"127.0.0.1/8", "10.0.0.2/32"}), netdev("eth0", 2, {"192.168.0.9/24"}),
                     netdev("bond0", 9, {"10.0.0.2/24"}, 0, "bond")});
  EXPECT_EQ(maker.table().node_interface, std::nullopt);
  maker.netdevs().default_route = 2;
  EXPECT_EQ(maker.table().node_interface, "eth0");
  maker.node_address = *parse_ip("10.0.0.2");
  EXPECT_EQ(maker.table().node_interface, "bond0");
  maker.node_address = *parse_ip("10.0.0.3");  // of no interface here
  EXPECT_EQ(maker.table().node_interface, "eth0");
}

// In the kernel's order, which is the one that NCCL meets them in.
TEST(Table, InterfacesAreThoseOfPortsTheirMastersTheNodesAndThoseThatNcclCouldTake) {
  TableOf maker({kHca}, {netdev("lo", 1, {"127.0.0.1/8"}), netdev("eth0", 2, {"10.0.0.2/24"}, 7),
                         netdev("eth1", 3, {"10.1.0.2/24"}, 8), netdev("br0", 7), netdev("vrf1", 8),
                         netdev("cni0", 9, {"10.244.0.1/24"}), netdev("spare", 10),
                         netdev("veth12345678", 20, {"fe80::1/64"}, 0, "veth"),
                         netdev("cilium_host", 21, {"10.0.1.1/32"}, 0, "veth")});
  maker.node_address = *parse_ip("10.0.0.2");
  std::vector<std::string> names;
  const NodeFabric table = maker.table();
  for (const Interface& each : *table.interfaces) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("lo", "eth0", "eth1", "br0", "vrf1", "cni0"));
  maker.all_interfaces = true;
  EXPECT_EQ(maker.table().interfaces->size(), 9u);
}

// As NCCL says it on a node whose uplink was plugged in behind the bridge of its pods.
TEST(Table, NcclsOwnSearchTakesABridgeThatComesFirst) {
  std::vector<Netdev> netdevs = {netdev("lo", 1, {"127.0.0.1/8"}), netdev("cni0", 2, {"10.244.0.1/24"}),
                                 netdev("eth0", 3, {"10.0.0.2/24"}), netdev("eth1", 4, {"10.1.0.2/24"})};
  const auto first = [&](const char* version) {
    const NodeFabric table = TableOf({kHca}, netdevs).table();
    return nccl_select(table, {}, *parse_nccl_version(version)).interfaces.front();
  };
  EXPECT_EQ(first("2.27.3"), "cni0");
  EXPECT_EQ(first("2.28.3"), "cni0");
  netdevs[1].running = false;  // no pod is on it
  EXPECT_EQ(first("2.28.3"), "eth0");
}

TEST(Table, OfOtherInterfacesUpSaysThatTheyRun) {
  TableOf maker({kHca}, {netdev("eth1", 3, {"10.1.0.2/24"}), netdev("docker0", 4, {"172.17.0.1/16"})});
  for (Netdev& each : maker.netdevs().all) each.running = false;
  const NodeFabric table = maker.table();
  EXPECT_EQ(table.interfaces->at(0).up, true);  // a cable that flaps does not change it
  EXPECT_EQ(table.interfaces->at(1).up, false);
}

// kube-ipvs0 has one for each Service.
TEST(Table, ManyAddressesOfAnotherInterfaceAreNotKept) {
  std::vector<std::string> many;
  for (int i = 1; i <= 17; ++i) many.push_back("10.96.0." + std::to_string(i) + "/32");
  const NodeFabric table =
      TableOf({kHca}, {netdev("eth1", 3, many), netdev("kube-ipvs0", 4, many)}).make().table;
  EXPECT_EQ(table.interfaces->at(0).addresses->size(), 17u);
  EXPECT_FALSE(table.interfaces->at(1).addresses);
}

TEST(Table, OtherInterfacesThatDoNotFitAreLeftOutTogether) {
  std::vector<Netdev> netdevs = {netdev("eth1", 1, {"10.1.0.2/24"})};
  for (unsigned i = 2; i <= 1025; ++i)
    netdevs.push_back(netdev("br" + std::to_string(i), i, {"10.2.0.1/24"}));
  const Made made = TableOf({kHca}, netdevs).make();
  EXPECT_EQ(made.table.interfaces->size(), 1u);
  EXPECT_THAT(made.problems,
              ElementsAre(HasSubstr("1024 interfaces that belong to no HCA: beyond what a table")));
  netdevs.pop_back();
  EXPECT_EQ(TableOf({kHca}, netdevs).table().interfaces->size(), 1024u);
}

TEST(Table, ALoopOfMastersEnds) {
  const NodeFabric table =
      TableOf({kHca}, {netdev("eth1", 3, {"10.1.0.2/24"}, 4), netdev("x", 4, {}, 3)}).table();
  EXPECT_EQ(table.interfaces->size(), 2u);
}

TEST(Table, NoMoreThanATableHolds) {
  RdmaDevice device = roce("mlx5_1", {});
  std::vector<RdmaDevice> devices;
  for (int i = 0; i < 300; ++i) {
    device.shared.hca = "mlx5_" + std::to_string(i);
    device.shared.pf_pci_address = i % 2 == 0 ? "0000:53:00.0" : "";
    devices.push_back(device);
  }
  const Made made = TableOf(devices, {netdev("eth1", 3)}).make();
  EXPECT_EQ(made.table.ports.size(), 256u);
  EXPECT_THAT(made.problems, ElementsAre("mlx5_212: beyond the 256 ports that a table holds"));
  const auto virtual_ones = std::count_if(made.table.ports.begin(), made.table.ports.end(),
                                          [](const Port& port) { return !port.pf_pci_address->empty(); });
  EXPECT_EQ(virtual_ones, 106);  // all 150 others are there
}

TEST(Table, APortWhoseRowsDoNotFitHasUnknownRows) {
  std::vector<RdmaDevice> devices;
  for (int i = 0; i < 3; ++i) {
    RdmaDevice device = roce("ib" + std::to_string(i), {});
    device.ports[0].link_layer = LinkLayer::InfiniBand;
    device.ports[0].gid_table_length = 2048;
    for (int row = 0; row < 2000; ++row)
      device.ports[0].entries->push_back({row, *parse_gid("fe80::1"), GidType::IB, {}, {}});
    devices.push_back(device);
  }
  const Made made = TableOf(devices, {netdev("eth1", 3)}).make();
  EXPECT_THAT(made.problems, ElementsAre("ib2: its GID rows are beyond the 4096 that a table holds"));
  EXPECT_EQ(made.table.ports[1].gids->size(), 2000u);
  EXPECT_FALSE(made.table.ports[2].gids);
}

TEST(Table, MoreInterfacesThanATableHoldsAreUnknown) {
  std::vector<Netdev> netdevs = {netdev("eth1", 1, {"10.1.0.2/24"})};
  for (unsigned i = 2; i <= 1100; ++i) netdevs.push_back(netdev("m" + std::to_string(i), i));
  TableOf maker({kHca}, netdevs);
  maker.all_interfaces = true;  // falls back to those that somebody needs
  EXPECT_EQ(maker.table().interfaces->size(), 1u);
  for (std::size_t i = 0; i + 1 < netdevs.size(); ++i) netdevs[i].master = netdevs[i + 1].index;
  const Made made = TableOf({kHca}, netdevs).make();
  EXPECT_FALSE(made.table.interfaces);
  EXPECT_THAT(made.problems, ElementsAre("1100 interfaces: beyond the 1024 that a table holds"));
}

TEST(Table, RowsBeyondTheTablesLengthAreLeftOut) {
  RdmaDevice device = roce("mlx5_1", kUsual);
  device.ports[0].gid_table_length = 3;
  EXPECT_EQ(indexes(TableOf({device}, {netdev("eth1", 3, {"10.1.0.2/24"})}).table().ports.at(0)),
            (std::vector{0, 1, 2}));
}

TEST(Table, NetdevsWithNamesThatNoListHolds) {
  const NodeFabric table = TableOf({roce("mlx5_1", {entry(3, "::ffff:10.1.0.2", GidType::RoCEv2, 3u)})},
                                   {netdev("eth0=1", 3, {"10.1.0.2/24"})})
                               .table();
  EXPECT_THAT(indexes(table.ports.at(0)), IsEmpty());
  EXPECT_THAT(*table.interfaces, IsEmpty());
}

}  // namespace
}  // namespace nccl_env::node::make_table_test
