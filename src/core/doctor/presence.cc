// SPDX-License-Identifier: Apache-2.0
// Checks that compare a port with its rail: whether it is there, its kind, whether it is up. And of whole
// nodes.
#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>
#include <utility>

#include "choose/node_traffic.h"
#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::doctor {

namespace {

void check_missing(Report& report) {
  const PoolView& pool = report.pool;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const NodeView& node = *pool.nodes[i];
    std::size_t there = 0;
    std::string first;
    std::vector<std::string> missing;
    for (const Rail& rail : pool.rails) {
      if (!rail.fabric) continue;
      (rail.ports[i] ? ++there, void() : missing.push_back(rail.name));
    }
    if (missing.empty()) continue;
    // A device that was moved into a pod's namespace is not in the node's.
    const bool exclusive = node.table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive;
    const Severity severity = exclusive ? Severity::Info : pool.small() ? Severity::Warning : Severity::Error;
    std::string evidence = "has " + std::to_string(there) + " of " + std::to_string(pool.expected()) +
                           " fabric ports that its pool has";
    if (exclusive) evidence += "; in exclusive RDMA namespace mode a pod may hold it";
    report.add(Code::HcaMissing, severity, &node, pool.by_name ? missing : std::vector<std::string>(),
               evidence);
  }
}

void check_names(Report& report) {
  const PoolView& pool = report.pool;
  const auto is_fabric = [&](const std::string& name) {
    return std::ranges::any_of(pool.rails,
                               [&](const Rail& rail) { return rail.fabric && rail.name == name; });
  };
  std::map<const NodeView*, std::pair<std::vector<std::string>, std::vector<std::string>>> renamed;
  for (const auto& [node, renaming] : pool.renamed) {
    if (!is_fabric(renaming.first)) continue;
    renamed[node].first.push_back(port_name(*node->table, *renaming.second));
    renamed[node].second.push_back(renaming.first);
  }
  for (const auto& [node, names] : renamed)
    report.add(Code::HcasDiffer, Severity::Warning, node, names.first,
               (names.first.size() == 1 ? "stands" : "stand") + std::string(" where its pool has ") +
                   short_list(names.second));
  for (const auto& [node, ports] : pool.extra) {
    std::vector<std::string> names;
    for (const Port* port : ports) {
      if (has(node->fabric, port)) names.push_back(port_name(*node->table, *port));
    }
    if (names.empty()) continue;
    report.add(Code::HcasDiffer, Severity::Warning, node, names,
               "has " + count_of(names.size(), "fabric port") + " more than the " +
                   std::to_string(pool.expected()) + " of its pool");
  }
}

template <class T>
bool differ(const std::optional<T>& left, const std::optional<T>& right) {
  return left && right && *left != *right;
}

void check_hardware(Report& report) {
  // An example of the rail's usual kind: any port of that kind will do.
  std::map<std::string, const Port*> example;
  each_fabric_port(report.pool, [&](const NodeView&, const Rail&, const Port& port) {
    example.try_emplace(kind_of(port), &port);
  });
  std::vector<std::string> kinds;
  for (const Rail& rail : report.pool.rails) {
    if (rail.fabric) kinds.push_back(rail.kind);
  }
  const auto pools_kind = majority(kinds);
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    // On one or two nodes a rail has no majority; the other rails tell what is usual.
    const std::string& usual = report.pool.small() && pools_kind ? *pools_kind : rail.kind;
    const auto found = example.find(usual);
    if (found == example.end()) return;
    const Port& other = *found->second;
    const bool other_driver =
        differ(port.driver, other.driver) || differ(link_layer_of(port), link_layer_of(other));
    if (!other_driver && !differ(port.board_id, other.board_id)) return;
    report.add(Code::HardwareDiffers, other_driver ? Severity::Error : Severity::Warning, node, port,
               "is " + kind_of(port) + "; its pool has " + usual + " there");
  });
}

std::string state_text(const Port& port) {
  std::string text(to_string(*port.state));
  if (port.state_since) text += " since " + format_timestamp(*port.state_since);
  return text;
}

struct Standing {
  std::size_t up = 0, down = 0;
};

// Nodes are hardly to blame for a rail that is down on half of them or more.
constexpr std::string_view kSwitchFirst =
    "Look at the rail's switch first, on InfiniBand at the subnet manager, then at cables.";
constexpr std::string_view kNotYetActive =
    "The link is up, and the port waits for the subnet manager: see that one runs and reaches the node.";

void check_down(Report& report) {
  std::map<const Rail*, Standing> by_rail;
  Standing all;
  each_fabric_port(report.pool, [&](const NodeView&, const Rail& rail, const Port& port) {
    ++(is_down(port) ? by_rail[&rail].down : by_rail[&rail].up);
    ++(is_down(port) ? all.down : all.up);
  });
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    if (!is_down(port)) return;
    const Standing& count = report.pool.small() ? all : by_rail[&rail];
    const std::string evidence =
        state_text(port) + "; Active on " + std::to_string(count.up) + " of " +
        count_of(count.up + count.down, report.pool.small() ? "fabric port" : "node") + " of its pool";
    const bool waits = link_layer_of(port) == LinkLayer::InfiniBand && port.state != PortState::Down;
    const bool is_rails = !report.pool.small() && count.down >= count.up;
    report.add(Code::PortDown, Severity::Error, &node, {port_name(*node.table, port)}, evidence,
               std::string(waits      ? kNotYetActive
                           : is_rails ? kSwitchFirst
                                      : ""));
  });
}

}  // namespace

void check_presence(Report& report) {
  check_missing(report);
  check_names(report);
  check_hardware(report);
  check_down(report);
}

namespace {

void check_age(Report& report) {
  for (const NodeView* node : report.pool.nodes) {
    if (!node->table->time) continue;
    const auto age = report.input.now - *node->table->time;
    const std::string seen = "observed " + format_timestamp(*node->table->time);
    if (age > report.input.max_table_age) {
      report.add(Code::StaleTable, Severity::Warning, node, {},
                 seen + ", " + std::to_string(age / std::chrono::minutes(1)) + " minutes ago");
    } else if (is_ahead(node->table->time, report.input.now)) {
      report.add(Code::StaleTable, Severity::Warning, node, {}, seen + ", which is in the future");
    }
  }
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

// A policy whose globs take more than the rails does so on all nodes that are alike: once for a pool.
void check_management(Report& report) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::string>> nodes_with;
  for (const NodeView* node : report.pool.nodes) {
    const FabricRule* rule = fabric_rule(*node->policy, *node->table).rule;
    const auto is_glob = [](const std::string& name) { return name.find_first_of("*?[") != name.npos; };
    if (!rule || std::none_of(rule->hcas.begin(), rule->hcas.end(), is_glob)) continue;
    for (const Port* port : node->offered) {
      const std::string why = not_a_rail(*node, *port);
      const std::string sentence = "policy " + node->policy->name + " takes it, and it " + why;
      if (!why.empty()) nodes_with[{sentence, {port_name(*node->table, *port)}}].push_back(node->table->name);
    }
  }
  for (const auto& [told, nodes] : nodes_with) {
    report.add(Code::ManagementInFabric, Severity::Warning, nullptr, told.second,
               told.first + ": on " + std::to_string(nodes.size()) + " of " +
                   count_of(report.pool.nodes.size(), "node") + " of the pool");
  }
}

}  // namespace

void check_node(Report& report) {
  check_age(report);
  check_management(report);
}

void check_no_fabric(Report& report, const std::set<const NodeView*>& told) {
  std::vector<const NodeView*> without;
  for (const NodeView* node : report.pool.nodes) {
    if (node->reason && !told.contains(node)) without.push_back(node);
  }
  const bool most = without.size() * 2 > report.pool.nodes.size();
  if (most && !report.pool.small()) {
    const NodeView& one = *without.front();
    report.add(Code::NoFabric, Severity::Warning, nullptr, {},
               std::to_string(without.size()) + " of " + count_of(report.pool.nodes.size(), "node") + ", " +
                   std::string(to_string(*one.reason)) + " for one: " + one.detail,
               std::string(remedy(*one.reason)));
    return;
  }
  for (const NodeView* node : without) {
    // Where pods hold some of the devices, the others may be too few to recognize the fabric.
    const bool exclusive = node->table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive &&
                           node->reason == Reason::AmbiguousFabric;
    report.add(Code::NoFabric, exclusive ? Severity::Info : Severity::Error, node, {},
               std::string(to_string(*node->reason)) + ": " + node->detail +
                   (exclusive ? " In exclusive RDMA namespace mode a pod may hold the others." : ""),
               std::string(remedy(*node->reason)));
  }
}

}  // namespace nccl_env::doctor
