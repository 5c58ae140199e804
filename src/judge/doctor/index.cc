// SPDX-License-Identifier: Apache-2.0
// Checks of the GID index under which the processes of a node find its addresses.
#include <algorithm>
#include <map>

#include "doctor/checks.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/judge/doctor/doctor.h"

namespace nccl_env::doctor {
namespace {

// Tells the ports whose index is not that of most of the node's ports. Where nearly all nodes are so, it is a
// plan.
void check_inside(Report& report, const NodeView& node, bool planned) {
  std::map<std::pair<int, bool>, std::vector<std::string>> by_index;  // and whether it is of IPv4
  for (const Port* port : node.served) {
    const Rows rows = rows_of(node, *port);
    by_index[{*rows.first, rows.v4}].push_back(port_name(node, *port));
  }
  const auto most = std::ranges::max_element(by_index, {}, [](const auto& at) { return at.second.size(); });
  std::vector<std::string> odd;
  for (const auto& [at, names] : by_index) {
    if (at != most->first) odd.insert(odd.end(), names.begin(), names.end());
  }
  const auto is_of_other = [&](const auto& at) { return at.first.second != most->first.second; };
  const bool mixed = std::ranges::any_of(by_index, is_of_other);
  const std::string evidence = join(by_index, ", ", [&](const auto& at) {
    const char* const family = !mixed ? "" : at.first.second ? " (IPv4)" : " (IPv6)";
    return std::to_string(at.first.first) + family + " on " + some_of(at.second);
  });
  // No policy pins one, and with the default policy NCCL itself ends at a usable row of each port.
  const bool by_itself = report.input.policies.empty() &&
                         choose_gid(*node.table, node.served, {}, Exposure::Host, report.input.now).reason !=
                             Reason::GidNotUniform;
  report.add(Code::GidIndexDiffers, planned || by_itself ? Severity::Info : Severity::Error, node,
             std::move(odd),
             "no index serves all its ports: " + evidence +
                 (by_itself ? "; NCCL 2.21.5 and later find these rows without one" : ""));
}

void check_literal(Report& report, const NodeView& node) {
  if (node.policy->gid_index.kind != GidIndexRule::Kind::Literal) return;
  const int literal = node.policy->gid_index.literal;
  for (const Port* port : node.served) {
    const Rows rows = rows_of(node, *port);
    if (std::ranges::count(rows.usable, literal) > 0) continue;
    const std::string usable = std::to_string(std::ranges::min(rows.usable));
    report.add(Code::GidIndexDiffers, Severity::Error, node, {port_name(node, *port)},
               "policy " + node.policy->name + " sets index " + std::to_string(literal) +
                   ", and that row is not usable here; " + usable + " is",
               "Set spec.gidIndex of the policy to " + usable + ", or leave it to Auto.");
  }
}

struct Moved {
  std::vector<std::string> ports;
  std::string address;                 // of the first
  Timestamp since = Timestamp::max();  // of the first that moved
  int changes = 0;
};

// Tells addresses whose GID index moved while the node was up.
void check_drift(Report& report) {
  std::map<std::pair<const NodeView*, int>, Moved> by_place;  // and index
  for (const auto& [node, rail, port, rows] : report.pool.ports) {
    const std::vector<GidRow> all = port.gids.value_or(std::vector<GidRow>());
    const auto row =
        std::ranges::find_if(all, [&](const GidRow& each) { return is_unsettled(each, report.input.now); });
    if (row == all.end()) continue;
    Moved& moved = by_place[{&node, row->index}];
    if (moved.ports.empty()) moved.address = format_ip(row->address.value_or(row->gid.address()));
    moved.ports.push_back(port_name(node, port));
    moved.since = std::min(moved.since, *row->index_since);
    moved.changes = std::max(moved.changes, port.gid_index_changes.value_or(0));
  }
  for (const auto& [at, moved] : by_place)
    report.add(Code::GidIndexMoved, Severity::Warning, *at.first, moved.ports,
               (moved.ports.size() == 1 ? moved.address + " is"
                                        : "their addresses, " + moved.address + " for one, are") +
                   " at index " + std::to_string(at.second) + " since " + format_timestamp(moved.since) +
                   (moved.changes > 1 ? "; addresses left theirs " + std::to_string(moved.changes) +
                                            " times since the node booted"
                                      : ""),
               remedy_of_moved(at.first->table->name));
}

}  // namespace

void check_index(Report& report) {
  const auto& nodes = report.pool.nodes;
  const auto split = std::ranges::count(nodes, false, &NodeView::uniform);
  const bool planned = !report.pool.small() && split * 5 >= std::ssize(nodes) * 4;
  for (const NodeView* node : nodes) {
    check_literal(report, *node);
    if (!node->uniform) check_inside(report, *node, planned);
  }
  check_drift(report);
}

}  // namespace nccl_env::doctor
