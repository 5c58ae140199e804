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

constexpr const char* kTwoFabrics =
    "See that one subnet manager serves all of these ports (sminfo), and compare the subnet_prefix of all. "
    "If "
    "they are two fabrics on purpose, keep each job on one: ports of two prefixes do not reach each other.";

// The subnet of the port; of an InfiniBand port that is up its prefix, which the subnet manager gives.
std::optional<Cidr> network_of(const NodeView& node, const Port& port) {
  if (link_layer_of(port) != LinkLayer::InfiniBand) {
    const auto address = address_of(node, port);
    return address ? std::optional(address->network()) : std::nullopt;
  }
  if (is_down(port) || !port.gids) return std::nullopt;
  const auto row = std::ranges::find(*port.gids, 0, &GidRow::index);
  if (row == port.gids->end() || row->gid.is_zero()) return std::nullopt;
  return Cidr{row->gid.address(), 64}.network();
}

}  // namespace

void check_subnets(Report& report) {
  std::map<Cidr, const Rail*> owners;  // of the usual subnets
  const auto usual = [&](const Shares<Cidr>& shares, const Rail& rail) {
    const auto most = shares.majority(kPoolMajority);
    if (most) owners.emplace(*most, &rail);
    return most;
  };
  const auto subnet_of = [](const FabricPort& at) { return network_of(at.node, at.port); };
  compare_ports(report.pool, false, subnet_of, usual, [](const auto&...) {});  // all rails have to be known
  const auto tell = [&](const FabricPort& at, const Odd<Cidr>& odd, const Shares<Cidr>&) {
    const auto owner = owners.find(odd.value);
    const bool of_other = owner != owners.end();
    // Several nodes in another one are a unit of their own, or another fabric.
    if (!of_other && odd.members.size() > 1) return;
    report.add(Code::SubnetDiffers, of_other ? Severity::Error : Severity::Warning, at,
               format_cidr(odd.value) + (of_other ? ", the subnet of rail " + owner->second->name : "") +
                   "; " + count_of(odd.others.count, "node") + " of its pool have " +
                   format_cidr(*odd.usual) + " there",
               link_layer_of(at.port) == LinkLayer::InfiniBand ? kTwoFabrics : "");
  };
  compare_ports(report.pool, false, subnet_of, usual, tell);
}

void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings) {
  std::map<Gid, std::vector<Owner>> owners;
  std::vector<Gid> found;  // rail by rail
  for (const PoolView& pool : pools) {
    for (const auto& [node, rail, port] : pool.ports) {
      // Whoever has them now may be the same machine under a new name.
      if (node.table->time && input.now - *node.table->time > input.max_table_age) continue;
      for (const Gid& gid : reached_by(node, port)) {
        owners[gid].push_back({&pool, &node, &port});
        if (owners[gid].size() == 2) found.push_back(gid);
      }
    }
  }
  std::map<const PoolView*, std::vector<Duplicate>> on_most;
  for (const Gid& gid : found) {
    const std::vector<Owner>& all = owners[gid];
    if (is_on_most(all)) {
      on_most[all.front().pool].emplace_back(gid, all);
    } else {
      report_duplicate(gid, all, input, findings);
    }
  }
  for (const auto& [pool, most] : on_most) report_on_most(*pool, most, input, findings);
}

}  // namespace nccl_env::doctor
