// SPDX-License-Identifier: Apache-2.0
// Checks of the addresses that RoCE traffic uses, and of the GID index under which a process finds them.
#include <algorithm>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env::doctor {
namespace {

struct Rows {
  std::vector<int> usable;      // indexes
  bool known = false;           // false: nothing may be concluded from their absence
  bool only_v1 = true;          // all that are filled
  bool v4 = false, v6 = false;  // of the usable ones
  bool v1_address = false;      // a row of RoCE v1 has an address
  std::string why;              // where none is usable: why the last row is not
};

Rows rows_of(const NodeView& node, const Port& port) {
  Rows rows;
  if (!is_roce(port) || is_down(port) || !port.gids) return rows;
  rows.known = true;
  rows.why = "it has no GID row";
  const std::vector<Cidr>& subnets = fabric_subnets(*node.policy, *node.table);
  for (const GidRow& row : *port.gids) {
    const RowVerdict verdict = judge_row(node.interfaces, row, subnets);
    rows.known = rows.known && verdict.known;
    if (verdict.usable) rows.usable.push_back(row.index);
    if (verdict.usable) (row.gid.is_v4_mapped() ? rows.v4 : rows.v6) = true;
    rows.v1_address = rows.v1_address || (row.type == GidType::RoCEv1 && row.gid.is_v4_mapped());
    rows.only_v1 = rows.only_v1 && (row.gid.is_zero() || row.type == GidType::RoCEv1);
    if (!verdict.usable && !row.gid.is_zero())
      rows.why = "row " + std::to_string(row.index) + ": " + verdict.why;
  }
  return rows;
}

constexpr const char* kOnlyV1 =
    "The port has rows of RoCE v1 alone, as a card or driver without v2 has: compare firmware and driver "
    "with a good node's (ibv_devinfo, modinfo).";

// "": the code's.
std::string remedy_for(const Port& port, const Rows& rows) {
  return rows.only_v1 && !port.gids->empty() ? kOnlyV1 : "";
}

constexpr const char* kNoneHave =
    "Nothing, where pods have sub-interfaces of their own (a policy that says exposure: SubInterface ends "
    "this), or where these ports are for something else; else "
    "give their netdevs addresses (DHCP, netplan, the network operator).";
constexpr const char* kFamily =
    "Give these netdevs addresses of the family that the other nodes have, or give both to all nodes.";

// The rails on which few have an address, of all nodes that are looked at.
struct Unserved {
  std::vector<std::string> rails;
  std::set<const NodeView*> nodes;
  const NodeView* first = nullptr;
  std::string why;
  bool v1 = true;  // all ports have addresses in rows of v1 alone

  void add(const Rail& rail, const NodeView& node, const Rows& rows) {
    if (rails.empty() || rails.back() != rail.name) rails.push_back(rail.name);
    nodes.insert(&node);
    v1 = v1 && rows.only_v1 && rows.v1_address;
    if (first) return;
    first = &node;
    why = rows.why;
  }
};

// True where the policy says that its pods have sub-interfaces, and none the node's own rows.
bool is_of_sub_interfaces(const NcclPolicy& policy) {
  const auto has_exposure = [&](Exposure exposure) {
    return std::ranges::find(policy.resources, exposure, &ResourceMatch::exposure) != policy.resources.end();
  };
  return has_exposure(Exposure::SubInterface) && !has_exposure(Exposure::Host) && !policy.host_devices;
}

// Once for a pool whose rails have no addresses: on purpose, as for pods with sub-interfaces, or not yet.
void report_unserved(Report& report, const Unserved& unserved) {
  if (unserved.rails.empty() || unserved.first->reason) return;  // NoFabric says so
  const NodeView& node = *unserved.first;
  if (!unserved.v1 && is_of_sub_interfaces(*node.policy)) return;
  const std::string pods =
      node.on_host.empty()
          ? "no HCA list" + (node.host_reason ? " (" + std::string(to_string(*node.host_reason)) + ")" : "")
          : std::to_string(node.on_host.size()) + " of " +
                count_of(static_cast<std::size_t>(report.pool.expected()), "HCA");
  report.add(Code::NoAddress, unserved.v1 ? Severity::Warning : Severity::Info, nullptr,
             report.pool.by_name ? unserved.rails : std::vector<std::string>(),
             "no usable RoCE v2 row on " + std::to_string(unserved.nodes.size()) + " of " +
                 count_of(report.pool.nodes.size(), "node") + " (" + unserved.why +
                 "); hostNetwork pods there get " + pods,
             unserved.v1 ? kOnlyV1 : kNoneHave);
}

void check_addresses(Report& report) {
  Unserved unserved;
  const bool small = report.pool.small();
  const auto has_row = [](const FabricPort& at) {
    const Rows rows = rows_of(at.node, at.port);
    return rows.known ? std::optional(!rows.usable.empty()) : std::nullopt;
  };
  const auto served = [](const auto&, const Rail&) { return std::optional(true); };
  const auto tell = [&](const FabricPort& at, const Odd<bool>& odd, const Shares<bool>& shares) {
    const Rows rows = rows_of(at.node, at.port);
    // Nodes of pods with sub-interfaces need no address: a port without one is a fault only if most have one.
    if (shares.majority() != true) return unserved.add(at.rail, at.node, rows);
    report.add(Code::NoAddress, Severity::Error, at,
               "no usable RoCE v2 row (" + rows.why + "); " + std::to_string(odd.others.count) + " of " +
                   count_of(shares.known, small ? "port" : "node") + " of its pool have one",
               remedy_for(at.port, rows));
  };
  compare_ports(report.pool, small, has_row, served, tell);
  report_unserved(report, unserved);
}

std::string family_of(bool v4) {
  return v4 ? "IPv4" : "IPv6";
}

// Reports rails on which some nodes have IPv6 alone and others IPv4, which do not reach each other; a port
// with both serves either. Rails among themselves may differ: that is a plan.
void check_families(Report& report) {
  const auto has_v4 = [](const FabricPort& at) {
    const Rows rows = rows_of(at.node, at.port);
    return rows.usable.empty() ? std::nullopt : std::optional(rows.v4);
  };
  const auto usual = [](const Shares<bool>& shares, const Rail&) { return shares.majority(); };
  const auto tell = [&](const FabricPort& at, const Odd<bool>& odd, const Shares<bool>& shares) {
    const bool most = *odd.usual;
    if (!most && rows_of(at.node, at.port).v6) return;
    report.add(Code::NoAddress, Severity::Error, at,
               "has addresses of " + family_of(!most) + " alone; " + std::to_string(odd.others.count) +
                   " of " + count_of(shares.known, "node") + " of its pool have " + family_of(most) +
                   (most ? "" : " alone") + ", which they do not reach",
               kFamily);
  };
  compare_ports(report.pool, false, has_v4, usual, tell);
}

struct IndexView {
  std::vector<const Port*> ports;     // Active RoCE ports with a usable row
  std::map<const Port*, int> lowest;  // their lowest usable index
  std::optional<int> index;           // the node's
  bool uniform = true;
};

IndexView view_index(const NodeView& node, Timestamp now) {
  IndexView view;
  for (const Port* port : node.fabric) {
    const Rows rows = rows_of(node, *port);
    if (rows.usable.empty()) continue;
    view.ports.push_back(port);
    view.lowest[port] = *std::min_element(rows.usable.begin(), rows.usable.end());
  }
  if (view.ports.empty()) return view;
  const GidChoice choice = choose_gid(*node.table, view.ports, *node.policy, Exposure::Host, now);
  view.index = choice.index;
  view.uniform = choice.reason != Reason::GidNotUniform;
  return view;
}

// Reports the ports whose index is not that of most of the node's ports.
void report_inside(Report& report, const NodeView& node, const IndexView& view) {
  std::map<std::pair<int, bool>, std::vector<std::string>> by_index;  // and whether it is of IPv4
  std::set<bool> families;
  for (const Port* port : view.ports) {
    const bool v4 = rows_of(node, *port).v4;
    by_index[{view.lowest.at(port), v4}].push_back(port_name(*node.table, *port));
    families.insert(v4);
  }
  const auto most = std::ranges::max_element(by_index, {}, [](const auto& at) { return at.second.size(); });
  std::vector<std::string> odd;
  std::string evidence;
  for (const auto& [at, names] : by_index) {
    evidence += (evidence.empty() ? "" : ", ") + std::to_string(at.first) +
                (families.size() > 1 ? " (" + family_of(at.second) + ")" : "") + " on " + some_of(names);
    if (at != most->first) odd.insert(odd.end(), names.begin(), names.end());
  }
  report.add(Code::GidIndexDiffers, Severity::Error, &node, std::move(odd),
             "no index serves all its ports: " + evidence);
}

void check_literal(Report& report, const NodeView& node, const IndexView& view) {
  if (node.policy->gid_index.kind != GidIndexRule::Kind::Literal) return;
  const int literal = node.policy->gid_index.literal;
  for (const Port* port : view.ports) {
    const Rows rows = rows_of(node, *port);
    if (std::ranges::find(rows.usable, literal) != rows.usable.end()) continue;
    const std::string usable = std::to_string(view.lowest.at(port));
    report.add(Code::GidIndexDiffers, Severity::Error, &node, {port_name(*node.table, *port)},
               "policy " + node.policy->name + " sets index " + std::to_string(literal) +
                   ", and that row is not usable here; " + usable + " is",
               "Set spec.gidIndex of the policy to " + usable + ", or leave it to Auto.");
  }
}

void compare_nodes(Report& report, const std::map<const NodeView*, IndexView>& views) {
  const std::vector<const NodeView*>& nodes = report.pool.nodes;
  Shares<int> indexes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto index = views.at(nodes[i]).index) indexes.add(i, *index);
  }
  const auto most = indexes.majority(kPoolMajority);
  for (const auto& odd : odd_ones(indexes, most)) {
    for (const std::size_t i : most ? odd.members : Members())
      report.add(Code::GidIndexDiffers, Severity::Warning, nodes[i], {},
                 "index " + std::to_string(odd.value) + " here, " + std::to_string(*most) +
                     " on most nodes of its pool");
  }
  if (most || indexes.known < kPoolMajority) return;
  const std::string evidence = join_some(indexes.members_with, 4, [](const auto& at) {
    return std::to_string(at.first) + " on " + count_of(at.second.size(), "node");
  });
  report.add(Code::GidIndexDiffers, Severity::Warning, nullptr, {},
             "nodes have different indexes, " + evidence + ": no NCCL_IB_GID_INDEX of a job serves all");
}

}  // namespace

void check_index(Report& report) {
  check_addresses(report);
  check_families(report);
  std::map<const NodeView*, IndexView> views;
  std::size_t split = 0;
  for (const NodeView* node : report.pool.nodes) {
    const IndexView& view = views[node] = view_index(*node, report.input.now);
    split += view.uniform ? 0 : 1;
    check_literal(report, *node, view);
  }
  // Where nearly all nodes are so, it is a plan.
  if (!report.pool.small() && split * 5 >= report.pool.nodes.size() * 4) {
    report.add(Code::GidIndexDiffers, Severity::Info, nullptr, {},
               "on " + std::to_string(split) + " of " + count_of(report.pool.nodes.size(), "node") +
                   " no index serves all fabric ports: NCCL has to find it for each by itself");
  } else {
    for (const auto& [node, view] : views) {
      if (!view.uniform) report_inside(report, *node, view);
    }
  }
  compare_nodes(report, views);
}

namespace {

struct Moved {
  std::vector<std::string> ports;
  std::string address;  // of the first
  Timestamp since;      // of the first that moved
  int changes = 0;
};

const GidRow* unsettled_row(const Port& port, Timestamp now) {
  if (!port.gids) return nullptr;
  const auto found =
      std::ranges::find_if(*port.gids, [&](const GidRow& row) { return is_unsettled(row, now); });
  return found == port.gids->end() ? nullptr : &*found;
}

void report_moved(Report& report, const NodeView& node, int index, const Moved& moved) {
  const std::string since = format_timestamp(moved.since);
  const bool one = moved.ports.size() == 1;
  report.add(Code::GidIndexMoved, Severity::Warning, &node, moved.ports,
             (one ? moved.address + " is" : "their addresses, " + moved.address + " for one, are") +
                 " at index " + std::to_string(index) + " since " + since +
                 (moved.changes > 1 ? "; addresses left theirs " + std::to_string(moved.changes) +
                                          " times since the node booted"
                                    : std::string()),
             remedy_of_moved(node.table->name));
}

}  // namespace

// Reports addresses whose GID index moved while the node was up.
void check_drift(Report& report) {
  std::map<const NodeView*, std::map<int, Moved>> by_node;
  for (const auto& [node, rail, port] : report.pool.ports) {
    const GidRow* row = unsettled_row(port, report.input.now);
    if (!row) continue;
    Moved& moved = by_node[&node][row->index];
    if (moved.ports.empty()) {
      moved.address = format_ip(row->address.value_or(row->gid.address()));
      moved.since = *row->index_since;
    }
    moved.ports.push_back(port_name(*node.table, port));
    moved.since = std::min(moved.since, *row->index_since);
    moved.changes = std::max(moved.changes, port.gid_index_changes.value_or(0));
  }
  for (const NodeView* node : report.pool.nodes) {
    const auto found = by_node.find(node);
    if (found == by_node.end()) continue;
    for (const auto& [index, moved] : found->second) report_moved(report, *node, index, moved);
  }
}

}  // namespace nccl_env::doctor
