// SPDX-License-Identifier: Apache-2.0
// Checks of addresses between ports: duplicates, and which subnet a rail is in.
#include <algorithm>
#include <set>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env::doctor {
namespace {

// The addresses by which a port is reached on its fabric: usable RoCE v2 addresses, or InfiniBand's first
// GID.
std::set<Gid> reached_by(const NodeView& node, const Port& port) {
  std::set<Gid> found;
  if (!port.gids || is_down(port)) return found;
  const bool roce = is_roce(port);
  for (const GidRow& row : *port.gids) {
    if (row.type == GidType::IB && row.index == 0 && !row.gid.is_zero()) found.insert(row.gid);
    if (roce && judge_row(node.interfaces, row, {}).usable) found.insert(row.gid);
  }
  return found;
}

std::string text_of(const Gid& gid) {
  return gid.is_v4_mapped() ? format_ip(gid.address()) : format_gid(gid);
}

struct Owner {
  const PoolView* pool;
  const NodeView* node;
  const Port* port;
};

std::string name_of(const Owner& owner) {
  return owner.node->table->name + " " + port_name(*owner.node->table, *owner.port);
}

// Cables between two nodes, or bridges inside one, may have the same addresses on all nodes.
bool is_on_most(const std::vector<Owner>& owners) {
  const PoolView& pool = *owners.front().pool;
  return !pool.small() && owners.size() * 2 > pool.nodes.size();
}

Severity severity_of(const std::vector<Owner>& owners) {
  const auto same_pool = [&](const Owner& owner) { return owner.pool == owners.front().pool; };
  return !is_on_most(owners) && std::ranges::all_of(owners, same_pool) ? Severity::Error : Severity::Warning;
}

void report_duplicate(const Gid& gid, const std::vector<Owner>& owners, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  const Severity severity = severity_of(owners);
  std::vector<std::string> names;
  names.reserve(owners.size());
  for (const Owner& owner : owners) names.push_back(name_of(owner));
  if (is_on_most(owners)) {
    Report(*owners.front().pool, input, findings)
        .add(Code::DuplicateAddress, severity, nullptr, {},
             text_of(gid) + " is the address of " + count_of(owners.size(), "port") + ", " + names.front() +
                 " for one");
    return;
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    std::vector<std::string_view> others(names.begin(), names.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    Report(*owners[i].pool, input, findings)
        .add(Code::DuplicateAddress, severity, *owners[i].node, *owners[i].port,
             text_of(gid) + " is also the address of " + some_of(others));
  }
}

using Duplicate = std::pair<Gid, std::vector<Owner>>;

using Nodes = std::vector<const NodeView*>;

// Empty where one of them owns the address twice.
Nodes nodes_of(const std::vector<Owner>& owners) {
  Nodes nodes;
  for (const Owner& owner : owners) {
    if (std::ranges::find(nodes, owner.node) != nodes.end()) return {};
    nodes.push_back(owner.node);
  }
  return nodes;
}

// Several addresses of one node on others: one finding for each of them.
void report_clone(const std::vector<Duplicate>& duplicates, const DoctorInput& input,
                  std::vector<Finding>& findings) {
  const auto& [gid, owners] = duplicates.front();
  for (std::size_t side = 0; side < owners.size(); ++side) {
    const Owner& own = owners[side];
    std::vector<std::string> ports;
    for (const Duplicate& each : duplicates) {
      const std::string name = port_name(*own.node->table, *each.second[side].port);
      if (ports.empty() || ports.back() != name) ports.push_back(name);
    }
    std::vector<std::string> others;
    for (const Owner& other : owners) {
      if (other.node != own.node) others.push_back(other.node->table->name);
    }
    Report(*own.pool, input, findings)
        .add(Code::DuplicateAddress, severity_of(owners), own.node, std::move(ports),
             std::to_string(duplicates.size()) + " addresses are also those of " + some_of(others) + ", " +
                 text_of(gid) + " for one");
  }
}

// The connected prefix of the port's lowest usable row.
std::optional<Cidr> network_of(const NodeView& node, const Port& port) {
  if (!port.gids || is_down(port)) return std::nullopt;
  const std::vector<Cidr>& subnets = fabric_subnets(*node.policy, *node.table);
  for (const GidRow& row : *port.gids) {
    if (!judge_row(node.interfaces, row, subnets).usable || !row.netdev) continue;
    const IpAddress wanted = row.address.value_or(row.gid.address());
    const Interface* interface = node.interfaces.find(*row.netdev);
    for (int step = 0; interface && step < 2; ++step) {  // its own, else its master's
      for (const InterfaceAddress& entry : interface->addresses.value_or(std::vector<InterfaceAddress>{})) {
        if (entry.address == wanted) return Cidr{entry.address, entry.prefix}.network();
      }
      interface = interface->master ? node.interfaces.find(*interface->master) : nullptr;
    }
  }
  return std::nullopt;
}

using Counts = std::map<Cidr, std::size_t>;  // the number of nodes in each subnet

struct Networks {
  std::map<const Rail*, Counts> by_rail;
  std::map<const Rail*, Counts::value_type> usual;  // that of most nodes
  std::map<Cidr, const Rail*> owners;               // of usual ones that are shared
  std::set<const Rail*> with_subnets;
  std::map<const NodeView*, std::map<const Rail*, Cidr>> by_node;
  std::map<const NodeView*, std::map<const Rail*, const Port*>> ports;
};

// True for the subnet of a unit of the fabric, which several nodes share.
bool is_shared(std::size_t nodes) {
  return nodes >= kPoolMajority;
}

// The rail whose subnet this is on most nodes, while it is not this rail's.
const Rail* owner_of(const Networks& networks, const Cidr& network, const Rail* but) {
  const auto owner = networks.owners.find(network);
  return owner == networks.owners.end() || networks.usual.at(but).first == network ? nullptr : owner->second;
}

// Point-to-point or per-node subnets say nothing about who belongs where: four of five nodes have to be in
// subnets that are shared, or another rail's.
bool has_subnets(const Networks& networks, const Rail* rail, const Counts& counts) {
  std::size_t shared = 0, all = 0;
  for (const auto& [network, nodes] : counts) {
    shared += is_shared(nodes) || owner_of(networks, network, rail) ? nodes : 0;
    all += nodes;
  }
  return all > kPoolMajority && shared * 5 >= all * 4;
}

Networks find_networks(const PoolView& pool) {
  Networks found;
  each_fabric_port(pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    const auto network = network_of(node, port);
    if (!network) return;
    ++found.by_rail[&rail][*network];
    found.by_node[&node].emplace(&rail, *network);
    found.ports[&node][&rail] = &port;
  });
  for (const auto& [rail, counts] : found.by_rail) {
    const auto& usual = *std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    found.usual.emplace(rail, usual);
    if (is_shared(usual.second)) found.owners.emplace(usual.first, rail);
  }
  for (const auto& [rail, counts] : found.by_rail) {
    if (has_subnets(found, rail, counts)) found.with_subnets.insert(rail);
  }
  return found;
}

// "10.4.0.0/16, the subnet of rail mlx5_4; 5 nodes of its pool have 10.3.0.0/16 there"
void report_odd(Report& report, const Networks& networks, const NodeView& node,
                const std::map<const Rail*, const Rail*>& odd) {
  for (const auto& [rail, owner] : odd) {
    const Port& port = *networks.ports.at(&node).at(rail);
    const auto back = odd.find(owner);
    if (back != odd.end() && back->second == rail) {  // says it once for both
      if (rail < owner)
        report.add(
            Code::SubnetDiffers, Severity::Error, &node,
            {port_name(*node.table, port), port_name(*node.table, *networks.ports.at(&node).at(owner))},
            "each has the subnet of the other's rail: two cables or two addresses are exchanged");
      continue;
    }
    const auto& [usual, nodes] = networks.usual.at(rail);
    report.add(Code::SubnetDiffers, owner ? Severity::Error : Severity::Warning, node, port,
               format_cidr(networks.by_node.at(&node).at(rail)) +
                   (owner ? ", the subnet of rail " + owner->name : std::string()) + "; " +
                   count_of(nodes, "node") + " of its pool have " + format_cidr(usual) + " there");
  }
}

void check_node_subnets(Report& report, const Networks& networks, const NodeView& node) {
  const auto& rails = networks.by_node.at(&node);
  std::map<const Rail*, const Rail*> odd;  // the rail whose subnet it has
  bool swapped = false;
  for (const auto& [rail, network] : rails) {
    const Rail* owner = owner_of(networks, network, rail);
    const bool shared = is_shared(networks.by_rail.at(rail).at(network));
    if (!networks.with_subnets.contains(rail) || (shared && !owner)) continue;
    odd.emplace(rail, owner);
    swapped = swapped || owner;
  }
  if (odd.size() == rails.size() && odd.size() > 1 && !swapped) {
    report.add(Code::SubnetDiffers, Severity::Info, &node, {},
               "none of its rails is in a subnet with other nodes: the first of a new unit?");
    return;
  }
  report_odd(report, networks, node, odd);
}

}  // namespace

void check_subnets(Report& report) {
  const Networks networks = find_networks(report.pool);
  for (const NodeView* node : report.pool.nodes) {
    if (networks.by_node.contains(node)) check_node_subnets(report, networks, *node);
  }
}

void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  std::map<Gid, std::vector<Owner>> owners;
  std::vector<Gid> found;  // rail by rail
  for (const PoolView& pool : pools) {
    each_fabric_port(pool, [&](const NodeView& node, const Rail&, const Port& port) {
      // Whoever has them now may be the same machine under a new name.
      if (node.table->time && input.now - *node.table->time > input.max_table_age) return;
      for (const Gid& gid : reached_by(node, port)) {
        owners[gid].push_back({&pool, &node, &port});
        if (owners[gid].size() == 2) found.push_back(gid);
      }
    });
  }
  std::map<Nodes, std::vector<Duplicate>> by_nodes;
  for (const Gid& gid : found)
    by_nodes[is_on_most(owners[gid]) ? Nodes() : nodes_of(owners[gid])].emplace_back(gid, owners[gid]);
  for (const auto& [nodes, duplicates] : by_nodes) {
    if (!nodes.empty() && duplicates.size() > 1) {
      report_clone(duplicates, input, findings);
      continue;
    }
    for (const auto& [gid, all] : duplicates) report_duplicate(gid, all, input, findings);
  }
}

}  // namespace nccl_env::doctor
