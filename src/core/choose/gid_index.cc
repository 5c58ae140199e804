// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/gid_index.h"

#include <algorithm>
#include <set>

#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/nccl/environment.h"
#include "nccl_env/core/nccl/gid.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/nccl/version.h"

namespace nccl_env {
namespace {

std::optional<std::string_view> constant(const NcclPolicy& policy, std::string_view name) {
  const auto found = policy.env.find(name);
  if (found == policy.env.end()) return std::nullopt;
  return found->second;
}

// The usable rows of the selected ports, in one address family.
struct Candidates {
  std::vector<std::set<int>> v4;  // per port
  std::vector<std::set<int>> v6;
  std::vector<const Port*> unknown;  // ports whose rows are not known, or not known well enough
};

Candidates find_candidates(const InterfaceIndex& interfaces, const std::vector<const Port*>& ports,
                           const std::vector<Cidr>& subnets, const std::optional<Cidr>& range) {
  Candidates found;
  for (const Port* port : ports) {
    found.v4.emplace_back();
    found.v6.emplace_back();
    bool unknown = !port->gids;
    for (const GidRow& row : port->gids.value_or(std::vector<GidRow>{})) {
      const RowVerdict verdict = judge_row(interfaces, row, subnets);
      unknown = unknown || !verdict.known;
      if (!verdict.usable) continue;
      const IpAddress address = row.address.value_or(row.gid.address());
      if (range && !range->contains(address)) continue;
      (address.is_v4() ? found.v4 : found.v6).back().insert(row.index);
    }
    if (unknown && found.v4.back().empty() && found.v6.back().empty()) found.unknown.push_back(port);
  }
  return found;
}

bool every_port_has_one(const std::vector<std::set<int>>& rows) {
  return std::none_of(rows.begin(), rows.end(), [](const std::set<int>& indexes) { return indexes.empty(); });
}

std::set<int> common(const std::vector<std::set<int>>& rows) {
  std::set<int> shared = rows.front();
  for (const std::set<int>& indexes : rows) {
    std::erase_if(shared, [&](int index) { return !indexes.contains(index); });
  }
  return shared;
}

std::string indexes_by_port(const std::vector<const Port*>& ports, const std::vector<std::set<int>>& rows) {
  std::string text;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    text += (i == 0 ? "" : ", ") + ports[i]->hca + " has";
    for (const int index : rows[i]) text += " " + std::to_string(index);
    if (rows[i].empty()) text += " none";
  }
  return text;
}

const GidRow* row_at(const Port& port, int index) {
  for (const GidRow& row : *port.gids) {
    if (row.index == index) return &row;
  }
  return nullptr;
}

// The connected prefix of the lowest usable row of each port, where all ports share one.
std::optional<Cidr> shared_prefix(const InterfaceIndex& interfaces, const std::vector<const Port*>& ports,
                                  const std::vector<std::set<int>>& rows) {
  std::optional<Cidr> shared;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const GidRow* row = row_at(*ports[i], *rows[i].begin());
    const Interface* interface = row && row->netdev ? interfaces.find(*row->netdev) : nullptr;
    if (!interface || !interface->addresses) return std::nullopt;
    const IpAddress address = row->address.value_or(row->gid.address());
    const auto same = [&](const InterfaceAddress& entry) { return entry.address == address; };
    const auto found = std::find_if(interface->addresses->begin(), interface->addresses->end(), same);
    if (found == interface->addresses->end()) return std::nullopt;
    const Cidr prefix = Cidr{found->address, found->prefix}.network();
    if (shared && *shared != prefix) return std::nullopt;
    shared = prefix;
  }
  return shared;
}

// PinIfNeeded: the first port on which NCCL's own search over this table ends at an unusable row.
const Port* misled_port(const std::vector<const Port*>& ports, const std::vector<std::set<int>>& rows,
                        bool ipv6, const NcclPolicy& policy) {
  NcclEnv env(policy.env.begin(), policy.env.end());
  if (ipv6) env.insert_or_assign(std::string(variable::kIbAddrFamily), "AF_INET6");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    std::string note;
    const auto chosen = nccl_gid_index(*ports[i], env, kNewestNccl, &note);
    if (!chosen || !rows[i].contains(*chosen)) return ports[i];
  }
  return nullptr;
}

GidChoice omit(Reason reason, std::string detail) {
  GidChoice choice;
  choice.reason = reason;
  choice.detail = std::move(detail);
  return choice;
}

void choose_index(GidChoice& choice, const InterfaceIndex& interfaces, const std::vector<const Port*>& ports,
                  const std::vector<std::set<int>>& rows, const NcclPolicy& policy) {
  const auto leave_out = [&](Reason reason, std::string detail) {
    choice.reason = reason;
    choice.detail = std::move(detail);
  };
  if (policy.gid_index.kind == GidIndexRule::Kind::Dynamic) {
    choice.range = shared_prefix(interfaces, ports, rows);
    return leave_out(Reason::OmittedByPolicy, "The policy leaves the index to NCCL (gidIndex: Dynamic).");
  }
  if (policy.gid_index.kind == GidIndexRule::Kind::PinIfNeeded &&
      !misled_port(ports, rows, choice.ipv6, policy)) {
    return leave_out(Reason::OmittedByPolicy,
                     "NCCL's own search ends at a usable row on every port (gidIndex: PinIfNeeded).");
  }
  const std::set<int> shared = common(rows);
  if (shared.empty()) {
    return leave_out(Reason::GidNotUniform,
                     "No index is usable on every port: " + indexes_by_port(ports, rows) + ".");
  }
  choice.index = *shared.begin();
}

}  // namespace

GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports,
                     const NcclPolicy& policy) {
  if (policy.gid_index.kind == GidIndexRule::Kind::Omit) {
    return omit(Reason::OmittedByPolicy, "The policy sets no index (gidIndex: Omit).");
  }
  if (link_layer_of(*ports.front()) == LinkLayer::InfiniBand) {
    return omit(Reason::InfiniBand, "InfiniBand ports need no GID index.");
  }
  if (constant(policy, variable::kIbRoceVersionNum).value_or("2") != "2") {
    return omit(Reason::OmittedByPolicy,
                "The policy's NCCL_IB_ROCE_VERSION_NUM is not 2, and only RoCE v2 rows are chosen.");
  }
  std::optional<Cidr> range;
  if (const auto text = constant(policy, variable::kIbAddrRange)) {
    if (const auto parsed = parse_cidr(*text)) range = *parsed;
  }
  const InterfaceIndex interfaces(table);
  const Candidates rows = find_candidates(interfaces, ports, policy.fabric.subnets, range);
  if (!rows.unknown.empty()) {
    const std::string names = format_hca_list(table, rows.unknown).substr(1);
    return omit(Reason::GidTableUnknown, "The GID rows of " + names + " are not known.");
  }
  const auto family = constant(policy, variable::kIbAddrFamily);
  const bool v4 = family.value_or("AF_INET") == "AF_INET" && every_port_has_one(rows.v4);
  const bool v6 = family.value_or("AF_INET6") == "AF_INET6" && every_port_has_one(rows.v6);
  if (!v4 && !v6) {
    const bool only_v6 = family == "AF_INET6";
    return omit(Reason::GidNotUniform, "Not every port has a usable row of one address family: " +
                                           indexes_by_port(ports, only_v6 ? rows.v6 : rows.v4) + ".");
  }
  GidChoice choice;
  choice.ipv6 = !v4;
  choose_index(choice, interfaces, ports, v4 ? rows.v4 : rows.v6, policy);
  return choice;
}

}  // namespace nccl_env
