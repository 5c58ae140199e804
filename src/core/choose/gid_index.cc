// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/gid_index.h"

#include <algorithm>
#include <set>

#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/gid.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

std::optional<std::string_view> constant(const NcclPolicy& policy, std::string_view name) {
  const auto found = policy.env.find(name);
  if (found == policy.env.end()) return std::nullopt;
  return found->second;
}

// The usable rows of the selected ports, by address family.
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

// The connected prefix of each port's lowest usable row, if it is the same on all ports.
std::optional<Cidr> shared_prefix(const InterfaceIndex& interfaces, const std::vector<const Port*>& ports,
                                  const std::vector<std::set<int>>& rows) {
  std::optional<Cidr> shared;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const GidRow* row = row_at(*ports[i], *rows[i].begin());
    const auto prefix = row ? interfaces.network_of(*row) : std::nullopt;
    if (!prefix || (shared && *shared != *prefix)) return std::nullopt;
    shared = prefix;
  }
  return shared;
}

// "10.1.1.0/24, 172.16.1.0/24": the connected prefixes of a port's usable rows.
std::string subnets_of(const InterfaceIndex& interfaces, const Port& port, const std::set<int>& rows) {
  std::set<Cidr> subnets;
  for (const GidRow& row : *port.gids) {
    if (const auto prefix = rows.contains(row.index) ? interfaces.network_of(row) : std::nullopt)
      subnets.insert(*prefix);
  }
  return join(subnets, ", ", format_cidr);
}

// True if the rows can replace each other: rows of one subnet can; a row of a storage network and a row of a
// compute network cannot. Where a subnet is not known, rows of one netdev count as rows of one subnet.
bool in_one_subnet(const InterfaceIndex& interfaces, const Port& port, const std::set<int>& rows) {
  const GidRow* first = nullptr;
  std::optional<Cidr> prefix;
  for (const GidRow& row : *port.gids) {
    if (!rows.contains(row.index)) continue;
    const auto own = interfaces.network_of(row);
    if (!first) {
      first = &row;
      prefix = own;
    } else if (prefix && own ? *prefix != *own : row.netdev != first->netdev) {
      return false;
    }
  }
  return true;
}

// The row that NCCL takes by itself on a port, where it is among the usable ones.
class OwnSearch {
 public:
  OwnSearch(const NcclPolicy& policy, bool ipv6, Exposure exposure)
      : env_(policy.env.begin(), policy.env.end()), exposure_(exposure) {
    if (ipv6) env_.insert_or_assign(std::string(variable::kIbAddrFamily), "AF_INET6");
    // Rules changed at 2.22 and 2.26: a version between the oldest and the newest behaves like one of them.
    if (policy.searches_gid()) versions_.push_back(policy.least_nccl());
  }

  [[nodiscard]] std::optional<int> row_of(const Port& port, const std::set<int>& usable) const {
    std::optional<int> row;
    for (const NcclVersion& version : versions_) {
      const auto chosen = nccl_gid_index(port, env_, version).index;
      if (!chosen || !usable.contains(*chosen) || (row && row != chosen)) return std::nullopt;
      row = chosen;
    }
    return exposure_ == Exposure::PodOwned && meets_others(port, *row) ? std::nullopt : row;
  }

 private:
  // True if rows below `index` are missing from this table. They belong to others; NCCL's search meets them
  // first, and keeps the first good row.
  static bool meets_others(const Port& port, int index) {
    return std::count_if(port.gids->begin(), port.gids->end(),
                         [&](const GidRow& row) { return row.index < index; }) != index;
  }

  NcclEnv env_;
  const Exposure exposure_;
  std::vector<NcclVersion> versions_{kNewestNccl};
};

GidChoice omit(Reason reason, std::string detail) {
  GidChoice choice;
  choice.reason = reason;
  choice.detail = std::move(detail);
  return choice;
}

class IndexChooser {
 public:
  IndexChooser(const NodeFabric& table, const InterfaceIndex& interfaces,
               const std::vector<const Port*>& ports, const std::vector<std::set<int>>& rows,
               const NcclPolicy& policy, Exposure exposure, Timestamp now)
      : table_(table),
        interfaces_(interfaces),
        ports_(ports),
        rows_(rows),
        policy_(policy),
        exposure_(exposure),
        now_(now) {}

  void choose(GidChoice& choice) {
    using Kind = GidIndexRule::Kind;
    const Kind rule = index_rule(policy_);
    if (rule == Kind::Dynamic) {
      choice.range = shared_prefix(interfaces_, ports_, rows_);
      choice.searched = true;
      return leave_out(choice, Reason::OmittedByPolicy, std::string(why_dynamic(policy_)));
    }
    const bool if_needed = rule != Kind::Pin && policy_.searches_gid();
    const OwnSearch search(policy_, choice.ipv6, exposure_);
    bool found_all = true;
    std::vector<const Port*> several;
    std::string subnets;  // of the first of them
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const bool alike = in_one_subnet(interfaces_, *ports_[i], rows_[i]);
      if (alike && !if_needed) continue;
      const auto found = search.row_of(*ports_[i], rows_[i]);
      found_all = found_all && found;
      if (alike) continue;
      if (several.empty()) subnets = subnets_of(interfaces_, *ports_[i], rows_[i]);
      // Only one row of such a port counts: the one that NCCL itself would take, or else the lowest.
      several.push_back(ports_[i]);
      rows_[i] = {found.value_or(*rows_[i].begin())};
    }
    const std::string ports = format_hca_list(table_, several).substr(1);
    if (if_needed && found_all) {
      choice.searched = true;
      if (!several.empty())
        choice.note = "There are usable rows in several subnets on " + ports +
                      ": those that NCCL takes count, unless fabric.subnets names a subnet.";
      return leave_out(choice, Reason::OmittedByPolicy,
                       "NCCL's own search ends at a usable row on every port (gidIndex: Auto).");
    }
    // A row that is usable need not be one that reaches the peers.
    if (!several.empty() && fabric_subnets(policy_, table_).empty())
      return leave_out(choice, Reason::AmbiguousAddress,
                       "There are usable rows in several subnets on " + ports +
                           ", and nothing says which is the fabric's" +
                           (subnets.empty() ? "" : ": " + subnets) + ".");
    pin(choice);
  }

 private:
  static void leave_out(GidChoice& choice, Reason reason, std::string detail) {
    choice.reason = reason;
    choice.detail = std::move(detail);
  }

  void pin(GidChoice& choice) const {
    const std::set<int> shared = common(rows_);
    if (shared.empty()) {
      return leave_out(choice, Reason::GidNotUniform,
                       "No index is usable on every port: " + indexes_by_port(ports_, rows_) + ".");
    }
    const int index = *shared.begin();
    std::vector<const Port*> moved;
    for (const Port* port : ports_) {
      const GidRow* row = row_at(*port, index);
      if (!is_unsettled(*row, now_)) continue;
      moved.push_back(port);
      const Timestamp still = *row->index_since + kIndexMovedGrace;
      choice.valid_until = std::max(choice.valid_until.value_or(still), still);
    }
    if (moved.empty()) {
      choice.index = index;
      return;
    }
    leave_out(choice, Reason::GidUnstable,
              "The address on " + format_hca_list(table_, moved).substr(1) + " has index " +
                  std::to_string(index) + " for less than a day, and had another one before.");
  }

  const NodeFabric& table_;
  const InterfaceIndex& interfaces_;
  const std::vector<const Port*>& ports_;
  std::vector<std::set<int>> rows_;
  const NcclPolicy& policy_;
  const Exposure exposure_;
  const Timestamp now_;
};

}  // namespace

GidIndexRule::Kind index_rule(const NcclPolicy& policy) {
  using Kind = GidIndexRule::Kind;
  const Kind kind = policy.gid_index.kind;
  if (kind != Kind::Auto && kind != Kind::Pin) return kind;
  const auto recovery = policy.env.find(variable::kPortRecovery);
  const bool on = recovery != policy.env.end() && nccl_integer(recovery->second).value_or(0) != 0;
  return on ? Kind::Dynamic : kind;
}

std::string_view why_dynamic(const NcclPolicy& policy) {
  return policy.gid_index.kind == GidIndexRule::Kind::Dynamic
             ? "The policy leaves the index to NCCL (gidIndex: Dynamic)."
             : "The policy turns port recovery on: NCCL follows a GID that moved, and a pinned index would "
               "not.";
}

bool is_unsettled(const GidRow& row, Timestamp now) {
  return row.index_since && now < *row.index_since + kIndexMovedGrace;
}

GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports, const NcclPolicy& policy,
                     Exposure exposure, Timestamp now) {
  GidChoice choice;
  if (policy.gid_index.kind == GidIndexRule::Kind::Literal) {
    choice.index = policy.gid_index.literal;
    return choice;
  }
  if (policy.gid_index.kind == GidIndexRule::Kind::Omit)
    return omit(Reason::OmittedByPolicy, "The policy sets no index (gidIndex: Omit).");
  if (link_layer_of(*ports.front()) == LinkLayer::InfiniBand)
    return omit(Reason::InfiniBand, "InfiniBand ports need no GID index.");
  if (constant(policy, variable::kIbRoceVersionNum).value_or("2") != "2")
    return omit(Reason::OmittedByPolicy,
                "The policy's NCCL_IB_ROCE_VERSION_NUM is not 2, and only RoCE v2 rows are chosen.");
  std::optional<Cidr> range;
  if (const auto text = constant(policy, variable::kIbAddrRange)) {
    if (const auto parsed = parse_cidr(*text)) range = *parsed;
  }
  const InterfaceIndex interfaces(table);
  const Candidates rows = find_candidates(interfaces, ports, fabric_subnets(policy, table), range);
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
  choice.ipv6 = !v4;
  IndexChooser(table, interfaces, ports, v4 ? rows.v4 : rows.v6, policy, exposure, now).choose(choice);
  return choice;
}

}  // namespace nccl_env
