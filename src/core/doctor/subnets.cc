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
  return owners.size() >= kPoolMajority && owners.size() * 2 > pool.nodes.size();
}

Severity severity_of(const std::vector<Owner>& owners) {
  const auto same_pool = [&](const Owner& owner) { return owner.pool == owners.front().pool; };
  return !is_on_most(owners) && std::ranges::all_of(owners, same_pool) ? Severity::Error : Severity::Warning;
}

constexpr const char* kTwoGuids =
    "A GUID belongs to one card: see whether the two names are one machine (compare sys_image_guid), a card "
    "was "
    "flashed with another's image (`mstflint -d DEVICE query`), or a VF was given another's GUID (`ip link "
    "show`), and give that one its own.";

// "": the code's, for addresses that netdevs have.
std::string remedy_for(const std::vector<Owner>& owners) {
  return link_layer_of(*owners.front().port) == LinkLayer::InfiniBand ? kTwoGuids : "";
}

void report_duplicate(const Gid& gid, const std::vector<Owner>& owners, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  const Severity severity = severity_of(owners);
  std::vector<std::string> names;
  names.reserve(owners.size());
  for (const Owner& owner : owners) names.push_back(name_of(owner));
  const Owner& first = owners.front();
  if (std::ranges::all_of(owners, [&](const Owner& owner) { return owner.node == first.node; })) {
    std::vector<std::string> ports;
    ports.reserve(owners.size());
    for (const Owner& owner : owners) ports.push_back(port_name(*first.node->table, *owner.port));
    Report(*first.pool, input, findings)
        .add(Code::DuplicateAddress, severity, first.node, std::move(ports),
             text_of(gid) + " is the address of each of them", remedy_for(owners));
    return;
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    std::vector<std::string_view> others(names.begin(), names.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    Report(*owners[i].pool, input, findings)
        .add(Code::DuplicateAddress, severity, owners[i].node,
             {port_name(*owners[i].node->table, *owners[i].port)},
             text_of(gid) + " is also the address of " + some_of(others), remedy_for(owners));
  }
}

using Duplicate = std::pair<Gid, std::vector<Owner>>;

// Addresses that most of a pool's nodes have: one finding.
void report_on_most(const PoolView& pool, const std::vector<Duplicate>& duplicates, const DoctorInput& input,
                    std::vector<Finding>& findings) {
  const auto& [gid, owners] = duplicates.front();
  const std::string more =
      duplicates.size() > 1 ? ", and so for " + std::to_string(duplicates.size() - 1) + " further addresses"
                            : std::string();
  Report(pool, input, findings)
      .add(Code::DuplicateAddress, Severity::Warning, nullptr, {},
           text_of(gid) + " is the address of " + count_of(owners.size(), "port") + ", " +
               name_of(owners.front()) + " for one" + more,
           remedy_for(owners));
}

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
                 text_of(gid) + " for one",
             remedy_for(owners));
  }
}

// The row's address, with the prefix by which it is connected.
std::optional<Cidr> address_of(const NodeView& node, const GidRow& row) {
  if (!row.netdev) return std::nullopt;
  const IpAddress wanted = row.address.value_or(row.gid.address());
  const Interface* interface = node.interfaces.find(*row.netdev);
  for (int step = 0; interface && step < 2; ++step) {  // its own, else its master's
    for (const InterfaceAddress& entry : interface->addresses.value_or(std::vector<InterfaceAddress>{})) {
      if (entry.address == wanted) return Cidr{entry.address, entry.prefix};
    }
    interface = interface->master ? node.interfaces.find(*interface->master) : nullptr;
  }
  return std::nullopt;
}

// That of the port's lowest usable row; a row of IPv4 comes before those of IPv6, as for the index.
std::optional<Cidr> address_of(const NodeView& node, const Port& port) {
  std::optional<Cidr> found;
  if (!port.gids || is_down(port)) return found;
  const std::vector<Cidr>& subnets = fabric_subnets(*node.policy, *node.table);
  for (const GidRow& row : *port.gids) {
    if ((found && !row.gid.is_v4_mapped()) || !judge_row(node.interfaces, row, subnets).usable) continue;
    const auto address = address_of(node, row);
    if (address && row.gid.is_v4_mapped()) return address;
    if (address) found = address;
  }
  return found;
}

using Counts = std::map<Cidr, std::size_t>;  // the number of nodes in each subnet

struct Networks {
  bool one_each = false;  // most rails are one subnet, which all nodes share
  std::map<const Rail*, Counts> by_rail;
  std::map<const Rail*, Counts::value_type> usual;  // that of most nodes
  std::map<Cidr, const Rail*> owners;               // of usual ones that are shared
  std::set<const Rail*> with_subnets;
  std::map<const NodeView*, std::map<const Rail*, Cidr>> by_node;
  std::map<const NodeView*, std::map<const Rail*, const Port*>> ports;
  std::map<const Port*, Cidr> addresses;
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

std::size_t nodes_in(const Counts& counts) {
  std::size_t all = 0;
  for (const auto& [network, nodes] : counts) all += nodes;
  return all;
}

// True for the subnet of a rail that more than half of its nodes have.
bool has_majority(const Counts& counts, std::size_t usual) {
  return usual * 2 > nodes_in(counts);
}

// True where so many rails are one subnet that the others should be, too.
bool are_one_each(const std::map<const Rail*, Counts>& by_rail) {
  std::size_t rails = 0, one = 0;
  for (const auto& [rail, counts] : by_rail) {
    if (nodes_in(counts) < 2) continue;
    ++rails;
    one += counts.size() == 1 ? 1 : 0;
  }
  return one * 2 > rails || (rails == 2 && one == 1);
}

// Point-to-point or per-node subnets say nothing about who belongs where: four of five nodes, or all but one,
// have to be in subnets that are shared, or another rail's.
bool has_subnets(const Networks& networks, const Rail* rail, const Counts& counts) {
  if (networks.one_each) return has_majority(counts, networks.usual.at(rail).second);
  std::size_t shared = 0, all = 0;
  for (const auto& [network, nodes] : counts) {
    shared += is_shared(nodes) || owner_of(networks, network, rail) ? nodes : 0;
    all += nodes;
  }
  return all > kPoolMajority && (shared * 5 >= all * 4 || shared + 1 == all);
}

Networks find_networks(const PoolView& pool) {
  Networks found;
  each_fabric_port(pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    const auto address = address_of(node, port);
    if (!address) return;
    ++found.by_rail[&rail][address->network()];
    found.by_node[&node].emplace(&rail, address->network());
    found.ports[&node][&rail] = &port;
    found.addresses.emplace(&port, *address);
  });
  found.one_each = are_one_each(found.by_rail);
  for (const auto& [rail, counts] : found.by_rail) {
    const auto& usual = *std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    found.usual.emplace(rail, usual);
    if (is_shared(usual.second) || (found.one_each && has_majority(counts, usual.second)))
      found.owners.emplace(usual.first, rail);
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

// The subnet of other nodes on the rail in which the address would be by another length of its prefix.
std::optional<Counts::value_type> by_other_length(const Networks& networks, const Rail* rail,
                                                  const Cidr& address) {
  const Counts& counts = networks.by_rail.at(rail);
  for (int length = address.address.is_v4() ? 32 : 128; length > 0; --length) {
    const auto found = counts.find(Cidr{address.address, length}.network());
    if (length != address.prefix && found != counts.end() && is_shared(found->second)) return *found;
  }
  return std::nullopt;
}

constexpr const char* kPrefixLength =
    "Give the netdev's address the prefix length that the other nodes have (DHCP, netplan, the network "
    "operator): by another one the node takes distant addresses for near ones, or near ones for distant.";

void check_node_subnets(Report& report, const Networks& networks, const NodeView& node) {
  std::map<const Rail*, Cidr> rails = networks.by_node.at(&node);
  for (const auto& [rail, port] : networks.ports.at(&node)) {
    const int length = networks.addresses.at(port).prefix;
    const auto meant = by_other_length(networks, rail, networks.addresses.at(port));
    if (!meant || !networks.with_subnets.contains(rail) ||
        is_shared(networks.by_rail.at(rail).at(rails.at(rail))))
      continue;
    report.add(Code::SubnetDiffers, Severity::Warning, &node, {port_name(*node.table, *port)},
               "its address has a prefix of /" + std::to_string(length) + "; " +
                   count_of(meant->second, "node") + " of its pool have /" +
                   std::to_string(meant->first.prefix) + " in that subnet",
               kPrefixLength);
    rails.erase(rail);
  }
  std::map<const Rail*, const Rail*> odd;  // the rail whose subnet it has
  bool swapped = false;
  for (const auto& [rail, network] : rails) {
    const Rail* owner = owner_of(networks, network, rail);
    const bool shared = networks.one_each ? network == networks.usual.at(rail).first
                                          : is_shared(networks.by_rail.at(rail).at(network));
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

// "10.4.0.0/24 on gpu-1, 10.5.0.0/24 on gpu-2"
std::string networks_text(const Networks& networks, const Rail* rail) {
  std::map<Cidr, std::set<std::string>> nodes;
  for (const auto& [node, rails] : networks.by_node) {
    if (const auto at = rails.find(rail); at != rails.end()) nodes[at->second].insert(node->table->name);
  }
  return join_some(nodes, 4,
                   [](const auto& of) { return format_cidr(of.first) + " on " + some_of(of.second); });
}

// Rails without a usual subnet, while most rails are one subnet each: nobody knows which node is wrong.
void check_split_rails(Report& report, const Networks& networks) {
  if (!networks.one_each) return;
  std::map<std::vector<Cidr>, std::vector<const Rail*>> by_networks;
  for (const Rail& rail : report.pool.rails) {
    const auto found = networks.by_rail.find(&rail);
    if (found == networks.by_rail.end() || networks.with_subnets.contains(&rail)) continue;
    std::vector<Cidr> all;
    for (const auto& [network, nodes] : found->second) all.push_back(network);
    const auto is_v4 = [](const Cidr& network) { return network.address.is_v4(); };
    const auto v4 = std::ranges::count_if(all, is_v4);
    if (v4 == 0 || v4 == std::ssize(all)) by_networks[all].push_back(&rail);  // else NoAddress says so
  }
  for (const auto& [all, rails] : by_networks) {
    std::vector<std::string> names;
    for (const Rail* rail : rails) names.push_back(rail->name);
    const bool exchanged = rails.size() == 2 && all.size() == 2;
    report.add(
        Code::SubnetDiffers, exchanged ? Severity::Error : Severity::Warning, nullptr, names,
        networks_text(networks, rails.front()) +
            (exchanged ? ", and the other way round on the other rail: two cables or two addresses are "
                         "exchanged"
                       : "; each of the other rails is one subnet"));
  }
}

constexpr const char* kTwoFabrics =
    "See that one subnet manager serves all of these ports (sminfo), and compare the subnet_prefix of all. "
    "If "
    "they are two fabrics on purpose, keep each job on one: ports of two prefixes do not reach each other.";

// The prefix of an InfiniBand port that is up, which its subnet manager gives; absent: not known.
std::optional<Cidr> prefix_of(const Port& port) {
  if (link_layer_of(port) != LinkLayer::InfiniBand || is_down(port) || !port.gids) return std::nullopt;
  const auto row = std::ranges::find(*port.gids, 0, &GidRow::index);
  if (row == port.gids->end() || row->gid.is_zero()) return std::nullopt;
  return Cidr{row->gid.address(), 64}.network();
}

using NodesByPrefix = std::map<Cidr, std::vector<const NodeView*>>;

// Names the nodes that have another prefix than most, where they are too few for a fabric of their own.
bool report_odd_prefix(Report& report, const NodesByPrefix& nodes, const std::vector<std::string>& rails) {
  const auto& usual = *std::ranges::max_element(nodes, {}, [](const auto& of) { return of.second.size(); });
  std::size_t odd = 0;
  for (const auto& [prefix, having] : nodes) odd += having.size();
  odd -= usual.second.size();
  if (is_shared(odd) || !is_shared(odd + usual.second.size()) || odd >= usual.second.size()) return false;
  for (const auto& [prefix, having] : nodes) {
    if (prefix == usual.first) continue;
    for (const NodeView* node : having) {
      report.add(Code::SubnetDiffers, Severity::Warning, node, rails,
                 "the subnet's prefix is " + format_cidr(prefix) + "; " +
                     count_of(usual.second.size(), "node") + " of its pool have " + format_cidr(usual.first) +
                     " there",
                 kTwoFabrics);
    }
  }
  return true;
}

// InfiniBand's subnets, rail by rail.
void check_prefixes(Report& report) {
  std::map<const Rail*, NodesByPrefix> by_rail;
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    if (const auto prefix = prefix_of(port)) by_rail[&rail][*prefix].push_back(&node);
  });
  // Rails that are split alike are one finding.
  std::map<NodesByPrefix, std::vector<std::string>> splits;
  for (const Rail& rail : report.pool.rails) {
    const auto found = by_rail.find(&rail);
    if (found != by_rail.end() && found->second.size() > 1) splits[found->second].push_back(rail.name);
  }
  for (const auto& [nodes, rails] : splits) {
    if (report_odd_prefix(report, nodes, rails)) continue;
    const auto is_unit = [](const auto& of) { return is_shared(of.second.size()); };
    const auto text = [](const auto& of) {
      std::vector<std::string> names;
      for (const NodeView* node : of.second) names.push_back(node->table->name);
      return format_cidr(of.first) + " on " + some_of(names);
    };
    report.add(Code::SubnetDiffers, std::ranges::all_of(nodes, is_unit) ? Severity::Info : Severity::Warning,
               nullptr, rails, "the subnet's prefix is " + join_some(nodes, 4, text), kTwoFabrics);
  }
}

}  // namespace

void check_subnets(Report& report) {
  check_prefixes(report);
  const Networks networks = find_networks(report.pool);
  check_split_rails(report, networks);
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
  std::map<const PoolView*, std::vector<Duplicate>> on_most;
  for (const Gid& gid : found) {
    const std::vector<Owner>& all = owners[gid];
    (is_on_most(all) ? on_most[all.front().pool] : by_nodes[nodes_of(all)]).emplace_back(gid, all);
  }
  for (const PoolView& pool : pools) {
    if (const auto most = on_most.find(&pool); most != on_most.end())
      report_on_most(pool, most->second, input, findings);
  }
  for (const auto& [nodes, duplicates] : by_nodes) {
    if (!nodes.empty() && duplicates.size() > 1) {
      report_clone(duplicates, input, findings);
      continue;
    }
    for (const auto& [gid, all] : duplicates) report_duplicate(gid, all, input, findings);
  }
}

}  // namespace nccl_env::doctor
