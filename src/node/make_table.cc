// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/make_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env::node {
namespace {

constexpr int kRnic = 4;  // enum rdma_node_type
constexpr int kChannelAdapter = 1;

bool holds(const Netdev& netdev, const IpAddress& wanted) {
  return netdev.addresses && std::ranges::count(*netdev.addresses, wanted, &InterfaceAddress::address) > 0;
}

// The row that the kernel makes of the MAC alone, whether or not the interface has such an address
// (RFC 4291, modified EUI-64).
bool is_default_gid(const Gid& gid, const Netdev& netdev) {
  if (!netdev.mac) return false;
  const auto& mac = *netdev.mac;
  const Gid made{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(mac[0] ^ 2), mac[1], mac[2], 0xff,
                  0xfe, mac[3], mac[4], mac[5]}};
  return gid == made;
}

std::optional<Transport> transport_of(const RdmaDevice& device, const Port& port) {
  if (port.driver == "erdma") return Transport::eRDMA;
  if (device.node_type == kRnic) return Transport::iWARP;
  if (device.node_type != kChannelAdapter) return std::nullopt;
  if (port.link_layer == LinkLayer::InfiniBand) return Transport::InfiniBand;
  return port.link_layer == LinkLayer::Ethernet ? std::optional(Transport::RoCE) : std::nullopt;
}

class TableMaker {
 public:
  TableMaker(const TableInputs& inputs, Problems& problems)
      : inputs_(inputs), netdevs_(inputs.netdevs), problems_(problems) {}

  NodeFabric make() {
    add_ports();
    settle_lags();
    bound(&Port::gids, "GID rows");
    bound(&Port::pkeys, "partition keys");
    find_rates();
    find_node_interface();
    add_interfaces();
    return std::move(table_);
  }

 private:
  // Virtual functions go last where not all ports fit: a node's own fabric is made of the physical ones.
  void add_ports() {
    std::vector<const RdmaDevice*> devices;
    std::size_t ports = 0;
    for (const RdmaDevice& device : inputs_.devices) {
      devices.push_back(&device);
      ports += device.ports.size();
    }
    if (ports > kMaxTablePorts) {
      std::stable_partition(devices.begin(), devices.end(), [](const RdmaDevice* device) {
        return device->shared.pf_pci_address.value_or("").empty();
      });
    }
    for (const RdmaDevice* device : devices) {
      for (const DevicePort& port : device->ports) {
        if (table_.ports.size() == kMaxTablePorts) {
          problems_.push_back(device->shared.hca + ": beyond the " + std::to_string(kMaxTablePorts) +
                              " ports that a table holds");
          return;
        }
        add_port(*device, port);
      }
    }
  }

  // Leaves out all rows of a port whose rows do not fit: a part of them would say that the others do not
  // exist.
  template <class Rows>
  void bound(Rows Port::*rows_of, const std::string& what) {
    std::size_t count = 0;
    for (Port& port : table_.ports) {
      Rows& rows = port.*rows_of;
      if (!rows) continue;
      if (rows->size() > kMaxTableRows - count) {
        problems_.push_back(port.hca + ": its " + what + " are beyond the " + std::to_string(kMaxTableRows) +
                            " that a table holds");
        rows.reset();
      } else {
        count += rows->size();
      }
    }
  }

  void add_port(const RdmaDevice& device, const DevicePort& from) {
    Port port = static_cast<const Port&>(from);
    port.transport = transport_of(device, port);
    port.gids = rows_of(from, port);
    port.netdev = netdev_of(device, port);
    port.lag = lag_of(port);
    table_.ports.push_back(std::move(port));
  }

  std::optional<std::vector<GidRow>> rows_of(const DevicePort& from, const Port& port) {
    if (!from.entries) return std::nullopt;
    // Only RoCE rows belong to an interface.
    const bool roce = port.transport == Transport::RoCE;
    if (roce && netdevs_.live && netdevs_.all.empty()) {
      problems_.push_back(port.hca +
                          ": without the interfaces nothing tells its rows from other namespaces'");
      return std::nullopt;
    }
    std::vector<GidRow> rows;
    for (const GidEntry& entry : *from.entries) {
      if (port.gid_table_length && entry.index >= *port.gid_table_length) continue;
      GidRow row{entry.index, entry.gid, entry.type, {}, {}};
      if (roce) {
        row.netdev = netdevs_.live ? owner_of(entry) : entry.netdev;
        if (!row.netdev || !entry.type) continue;
        if (entry.gid.is_v4_mapped() || !entry.gid.is_link_local()) row.address = entry.gid.address();
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // The interface that a RoCE row belongs to; none for a row of another namespace. The entry's interface
  // index and name are those of the row's namespace. An unrelated interface of ours may have the same ones,
  // so the address decides.
  [[nodiscard]] std::optional<std::string> owner_of(const GidEntry& entry) const {
    const Netdev* netdev = nullptr;
    if (entry.ifindex) {
      netdev = netdevs_.find(*entry.ifindex);
    } else if (entry.netdev) {
      netdev = netdevs_.find(*entry.netdev);
    }
    if (!netdev || !is_netdev_name(netdev->name)) return std::nullopt;
    const IpAddress address = entry.gid.address();
    const Netdev* master = netdevs_.find(netdev->master);
    const bool ours =
        holds(*netdev, address) || is_default_gid(entry.gid, *netdev) || (master && holds(*master, address));
    return ours ? std::optional(netdev->name) : std::nullopt;
  }

  // Finds the port's interface among the device's: a PCI function with several ports numbers them; a device
  // in switchdev mode lists its representors, too, and IPoIB its children (ib0.8001).
  [[nodiscard]] std::optional<std::string> netdev_of(const RdmaDevice& device, const Port& port) const {
    std::vector<std::string> names;
    for (const DeviceNetdev& netdev : device.netdevs) {
      if (device.ports.size() > 1 && netdev.dev_port != port.number - 1) continue;
      names.push_back(netdev.name);
    }
    if (names.size() > 1 && port.gids) {
      std::set<std::string> of_rows;
      for (const GidRow& row : *port.gids) of_rows.insert(row.netdev.value_or(""));
      const auto named = [&](const std::string& name) { return of_rows.contains(name); };
      if (std::count_if(names.begin(), names.end(), named) == 1)
        return *std::find_if(names.begin(), names.end(), named);
    }
    if (names.size() > 1) {
      const std::string parent = *std::min_element(names.begin(), names.end()) + ".";
      std::erase_if(names, [&](const std::string& name) { return name.starts_with(parent); });
    }
    return names.size() == 1 ? std::optional(names.front()) : std::nullopt;
  }

  // The bond whose rows the device has. A soft device on one leg of a bond has some of them too, beside
  // those of its own interface.
  [[nodiscard]] std::optional<std::string> lag_of(const Port& port) const {
    if (netdevs_.all.empty()) return std::nullopt;
    const Netdev* own = port.netdev ? netdevs_.find(*port.netdev) : nullptr;
    const Netdev* bond = nullptr;
    for (const GidRow& row : port.gids.value_or(std::vector<GidRow>{})) {
      const Netdev* netdev = row.netdev ? netdevs_.find(*row.netdev) : nullptr;
      if (netdev && netdev->kind == "bond" && !bond) bond = netdev;
    }
    // The kernel gives a bond's device such a name (mlx5_bond_0), whichever rows it has.
    if (!bond && own && own->master != 0 && port.hca.find("bond") != std::string::npos)
      bond = netdevs_.find(own->master);
    if (!bond || !is_netdev_name(bond->name)) return "";
    if (own && own != bond && own->master != bond->index) return "";
    for (const GidRow& row : port.gids.value_or(std::vector<GidRow>{})) {
      const Netdev* netdev = row.netdev ? netdevs_.find(*row.netdev) : nullptr;
      if (netdev && netdev->master == bond->index) return "";
    }
    return bond->name;
  }

  // Two devices whose interfaces are legs of one bond are no LAG: a LAG is one device.
  void settle_lags() {
    std::map<std::string, std::set<std::string>> claims;
    for (const Port& port : table_.ports) {
      if (port.lag && !port.lag->empty()) claims[*port.lag].insert(port.hca);
    }
    for (Port& port : table_.ports) {
      if (port.lag && !port.lag->empty() && claims[*port.lag].size() > 1) port.lag = "";
    }
  }

  // Takes the interface's speed on Ethernet: the rate that a driver gives in InfiniBand's terms may be lower
  // (Linux's ib_get_eth_speed ends at 100 Gb/s).
  void find_rates() {
    if (!inputs_.speed_gbps) return;
    for (Port& port : table_.ports) {
      if (port.link_layer != LinkLayer::Ethernet) continue;
      const std::string netdev = port.lag.value_or("").empty() ? port.netdev.value_or("") : *port.lag;
      if (netdev.empty()) continue;
      if (const auto speed = inputs_.speed_gbps(netdev)) port.rate_gbps = speed;
    }
  }

  void find_node_interface() {
    const Netdev* found = inputs_.node_address ? netdevs_.carrier_of(*inputs_.node_address) : nullptr;
    if (!found) found = netdevs_.find(netdevs_.default_route);
    if (found && is_netdev_name(found->name)) table_.node_interface = found->name;
  }

  void add_interfaces() {
    if (netdevs_.all.empty()) return;
    std::set<unsigned> wanted;
    const auto want = [&](std::string_view name) {
      const Netdev* netdev = netdevs_.find(name);
      while (netdev && wanted.insert(netdev->index).second) netdev = netdevs_.find(netdev->master);
    };
    for (const Port& port : table_.ports) {
      for (const std::string_view name : netdevs_of(port)) want(name);
    }
    if (table_.node_interface) want(*table_.node_interface);
    const bool all = inputs_.all_interfaces && netdevs_.all.size() <= kMaxTableInterfaces;
    if (!all && wanted.size() > kMaxTableInterfaces) {
      // A list with some of them would say that the others are not there.
      problems_.push_back(std::to_string(wanted.size()) + " interfaces: beyond the " +
                          std::to_string(kMaxTableInterfaces) + " that a table holds");
      return;
    }
    const std::set<unsigned> others = all ? std::set<unsigned>() : find_others(wanted);
    table_.interfaces.emplace();
    for (const Netdev& netdev : netdevs_.all) {
      if (!is_netdev_name(netdev.name)) continue;
      if (all || wanted.contains(netdev.index)) add_interface(netdev);
      if (others.contains(netdev.index)) add_other(netdev);
    }
  }

  // Finds interfaces that NCCL's search would meet besides the wanted ones, such as cni0, virbr0 and docker0:
  // all of them or none.
  std::set<unsigned> find_others(const std::set<unsigned>& wanted) {
    std::set<unsigned> others;
    for (const Netdev& netdev : netdevs_.all) {
      if (!leads_to_pod(netdev.kind) && netdev.addresses && !netdev.addresses->empty() &&
          !wanted.contains(netdev.index))
        others.insert(netdev.index);
    }
    if (wanted.size() + others.size() <= kMaxTableInterfaces) return others;
    problems_.push_back(
        std::to_string(others.size()) +
        " interfaces that belong to no HCA: beyond what a table holds, so it is not known which "
        "of them NCCL would take for sockets");
    return {};
  }

  // Leaves out a long list of addresses: kube-ipvs0 has one for each Service, and its list would change with
  // each Service.
  void add_other(const Netdev& netdev) {
    constexpr std::size_t kMostAddresses = 16;
    add_interface(netdev);
    Interface& added = table_.interfaces->back();
    added.up = netdev.up && netdev.running;
    if (added.addresses && added.addresses->size() > kMostAddresses) added.addresses.reset();
  }

  void add_interface(const Netdev& netdev) {
    Interface interface;
    interface.name = netdev.name;
    interface.addresses = netdev.addresses;
    if (interface.addresses && interface.addresses->size() > kMaxInterfaceAddresses) {
      problems_.push_back(netdev.name + ": beyond the " + std::to_string(kMaxInterfaceAddresses) +
                          " addresses of one interface that a table holds");
      interface.addresses.reset();
    }
    interface.mtu = netdev.mtu;
    interface.up = netdev.up;
    const Netdev* master = netdevs_.find(netdev.master);
    interface.master = master && is_netdev_name(master->name) ? master->name : "";
    table_.interfaces->push_back(std::move(interface));
  }

  const TableInputs& inputs_;
  const Netdevs& netdevs_;
  Problems& problems_;
  NodeFabric table_;
};

}  // namespace

NodeFabric make_table(const TableInputs& inputs, Problems& problems) {
  return TableMaker(inputs, problems).make();
}

}  // namespace nccl_env::node
