// SPDX-License-Identifier: Apache-2.0
// Checks of one node: its table, its policy, and what of its pool's fabric it has.
#include <algorithm>
#include <chrono>
#include <sstream>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/node_traffic.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::doctor {
namespace {

bool is_exclusive(const NodeView& node) {
  return node.table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive;
}

std::string ago(std::chrono::seconds age) {
  const bool minutes = age < std::chrono::hours(2);
  const auto number = minutes ? age / std::chrono::minutes(1) : age / std::chrono::hours(1);
  return count_of(static_cast<std::size_t>(number), minutes ? "minute" : "hour") + " ago";
}

void check_age(Report& report, const NodeView& node) {
  const auto& [time, now] = std::tie(node.table->dated(), report.input.now);
  if (!is_stale(time, {now, report.input.max_table_age})) return;
  report.add(Code::StaleTable, Severity::Warning, node, {},
             "observed " + format_timestamp(*time) + ", " +
                 (is_ahead(time, now) ? "which is in the future" : ago(now - *time)));
}

// Says why a port is hardly a rail, though globs of the policy take it; "" where nothing speaks against it.
std::string not_a_rail(const NodeView& node, const Port& port) {
  const NodeInterface own(*node.table, node.interfaces);
  double fastest = 0;
  bool others = false;  // that do not carry the node's traffic
  for (const Port* other : node.offered) {
    fastest = std::max(fastest, rate_of(*other).value_or(0));
    others = others || !own.carries(*other);
  }
  std::ostringstream text;
  if (own.carries(port) && others) text << "carries the node's own interface " << own.name();
  if (const auto rate = rate_of(port); rate && *rate * 2 < fastest)
    text << (text.str().empty() ? "has " : ", and has ") << *rate << " of the others' " << fastest << " Gb/s";
  return text.str();
}

void check_management(Report& report, const NodeView& node) {
  const FabricRule* rule = fabric_rule(*node.policy, *node.table).rule;
  const auto is_glob = [](const std::string& name) { return name.find_first_of("*?[") != name.npos; };
  if (!rule || std::ranges::none_of(rule->hcas, is_glob)) return;
  for (const Port* port : node.offered) {
    const std::string why = not_a_rail(node, *port);
    if (!why.empty())
      report.add(Code::ManagementInFabric, Severity::Warning, node, {port_name(node, *port)},
                 "policy " + node.policy->name + " takes it, and it " + why);
  }
}

// The place of a missing port: that of most nodes that have it; "" where they do not agree.
std::string place_of(const Rail& rail) {
  const auto places = rail_shares(rail, [](const Port& port) { return port.pci_address.value_or(""); });
  return places.majority(places.members_with.size() > 1 ? kPoolMajority : 1).value_or("");
}

// Whether the policy expects exactly the ports that the node has.
bool is_planned(const NodeView& node) {
  const FabricRule* rule = fabric_rule(*node.policy, *node.table).rule;
  return rule && rule->expect_ports == static_cast<int>(node.fabric.size());
}

void check_missing(Report& report, std::size_t position) {
  const PoolView& pool = report.pool;
  const NodeView& node = *pool.nodes[position];
  std::vector<std::string> names, places;
  std::size_t missing = 0;
  for (const Rail& rail : pool.rails) {
    if (!rail.fabric || rail.ports[position]) continue;
    ++missing;
    if (pool.by_name) names.push_back(rail.name);
    if (const std::string place = place_of(rail); pool.by_name && !place.empty()) places.push_back(place);
  }
  if (missing == 0 || is_planned(node)) return;
  const std::size_t expected = pool.expected();
  // A device that was moved into a pod's namespace is not in the node's.
  const bool held = is_exclusive(node);
  report.add(Code::HcaMissing, held ? Severity::Info : Severity::Error, node, names,
             "has " + std::to_string(expected - missing) + " of " + std::to_string(expected) +
                 " fabric ports that its pool has" +
                 (places.empty() ? "" : ", on the others at " + some_of(places)) +
                 (held ? "; in exclusive RDMA namespace mode a pod may hold it" : ""),
             held ? "Nothing, while a pod of the node holds the device; if none does, look for it in lspci "
                    "and for its driver in dmesg."
                  : "");
}

void check_names(Report& report) {
  const PoolView& pool = report.pool;
  for (const auto& [node, rail, port] : pool.strays) {
    if (rail ? !rail->fabric : !has(node->fabric, port)) continue;
    report.add(Code::HcasDiffer, Severity::Warning, *node, {port_name(*node, *port)},
               rail ? "stands where its pool has " + rail->name
                    : "is more than the " + count_of(pool.expected(), "fabric port") + " of its pool");
  }
}

// Where most of a pool have none, that may be how its nodes are.
void check_no_fabric(Report& report) {
  const auto& nodes = report.pool.nodes;
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const NodeView* node) { return node->reason.has_value(); }));
  const bool most = without * 2 > nodes.size() && !report.pool.small();
  for (const NodeView* node : nodes) {
    if (node->few) {
      const std::string few = "its pods get " + count_of(node->offered.size(), "HCA") +
                              ", fewer than the policy expects (TooFewPorts)";
      report.add({Code::RailDown, Severity::Warning, of_node(node->table->name), few, "", "; so " + few});
    }
    if (!node->reason) continue;
    const std::string reason(to_string(*node->reason)), of_node_name = node->table->name + ": ";
    // The finding's subject names the node.
    const std::size_t begin = node->detail.starts_with(of_node_name) ? of_node_name.size() : 0;
    // Where pods hold some of the devices, the others may be too few to recognize the fabric.
    const bool away = std::ranges::any_of(
        node->table->ports, [](const Port& port) { return port.unavailable == Unavailable::OtherNamespace; });
    const bool held = is_exclusive(*node) && (away || node->reason == Reason::AmbiguousFabric);
    report.add({Code::NoFabric,
                held   ? Severity::Info
                : most ? Severity::Warning
                       : Severity::Error,
                of_node(node->table->name),
                (held ? "in exclusive RDMA namespace mode a pod may hold the others; " : "") + reason + ": " +
                    node->detail.substr(begin),
                std::string(remedy(*node->reason)), "; so its pods get no HCA list (" + reason + ")"});
  }
}

}  // namespace

void check_nodes(Report& report) {
  const PoolView& pool = report.pool;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    check_age(report, *pool.nodes[i]);
    check_management(report, *pool.nodes[i]);
    if (!pool.small()) check_missing(report, i);
  }
  if (!pool.small()) check_names(report);
  check_no_fabric(report);
}

// A node of another kind, such as a control plane's, has no hardware by right.
void check_bare(const std::vector<NodeView>& views, std::vector<Finding>& findings) {
  for (const NodeView& view : views) {
    if (!view.parts.empty()) continue;
    const bool held = is_exclusive(view);
    findings.push_back({Code::NoFabric, Severity::Info, of_node(view.table->name),
                        std::string("its table holds no RDMA hardware") +
                            (held ? "; in exclusive RDMA namespace mode pods may hold all of it" : ""),
                        held
                            ? "Nothing, while pods of the node hold the devices."
                            : "Nothing, where the node has none; else look for the card in lspci and for its "
                              "driver in dmesg."});
  }
}

}  // namespace nccl_env::doctor
