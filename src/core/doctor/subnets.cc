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

struct Networks {
  std::map<const Rail*, std::map<Cidr, std::size_t>> by_rail;  // the number of nodes in each subnet
  std::map<const NodeView*, std::map<const Rail*, Cidr>> by_node;
  std::map<const NodeView*, std::map<const Rail*, const Port*>> ports;
};

Networks find_networks(const PoolView& pool) {
  Networks found;
  each_fabric_port(pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    const auto network = network_of(node, port);
    if (!network) return;
    ++found.by_rail[&rail][*network];
    found.by_node[&node].emplace(&rail, *network);
    found.ports[&node][&rail] = &port;
  });
  return found;
}

// True for the subnet of a unit of the fabric, which several nodes share.
bool is_shared(std::size_t nodes) {
  return nodes >= kPoolMajority;
}

// Point-to-point or per-node subnets say nothing about who belongs where: four of five nodes have to be in
// subnets that are shared.
bool rail_has_subnets(const std::map<Cidr, std::size_t>& networks) {
  std::size_t shared = 0, all = 0;
  for (const auto& [network, nodes] : networks) {
    shared += is_shared(nodes) ? nodes : 0;
    all += nodes;
  }
  return all > kPoolMajority && shared * 5 >= all * 4;
}

const Rail* rail_of(const Networks& networks, const Cidr& network, const Rail* but) {
  for (const auto& [rail, counts] : networks.by_rail) {
    const auto found = counts.find(network);
    if (rail != but && found != counts.end() && is_shared(found->second)) return rail;
  }
  return nullptr;
}

void check_node_subnets(Report& report, const Networks& networks, const NodeView& node) {
  const auto& rails = networks.by_node.at(&node);
  std::vector<const Rail*> odd;
  bool swapped = false;
  for (const auto& [rail, network] : rails) {
    const auto& counts = networks.by_rail.at(rail);
    if (!rail_has_subnets(counts) || is_shared(counts.at(network))) continue;
    odd.push_back(rail);
    swapped = swapped || rail_of(networks, network, rail) != nullptr;
  }
  if (odd.size() == rails.size() && odd.size() > 1 && !swapped) {
    report.add(Code::SubnetDiffers, Severity::Info, &node, {},
               "none of its rails is in a subnet with other nodes: the first of a new unit?");
    return;
  }
  for (const Rail* rail : odd) {
    const Cidr& network = rails.at(rail);
    const auto& counts = networks.by_rail.at(rail);
    const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    const Rail* other = rail_of(networks, network, rail);
    report.add(Code::SubnetDiffers, other ? Severity::Error : Severity::Warning, node,
               *networks.ports.at(&node).at(rail),
               format_cidr(network) + (other ? ", the subnet of rail " + other->name : std::string()) + "; " +
                   count_of(most->second, "node") + " of its pool have " + format_cidr(most->first) +
                   " there");
  }
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
      for (const Gid& gid : reached_by(node, port)) {
        owners[gid].push_back({&pool, &node, &port});
        if (owners[gid].size() == 2) found.push_back(gid);
      }
    });
  }
  for (const Gid& gid : found) report_duplicate(gid, owners[gid], input, findings);
}

}  // namespace nccl_env::doctor
