// SPDX-License-Identifier: Apache-2.0
// Checks that compare a port with its rail: whether it is there, its kind, whether it is up. And of whole
// nodes.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
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

// The place of a missing port: that of most nodes that have it; "" where they do not agree.
std::string place_of(const Rail& rail) {
  Shares<std::string> places;
  for (std::size_t i = 0; i < rail.ports.size(); ++i) {
    if (rail.ports[i]) places.add(i, rail.ports[i]->pci_address.value_or(""));
  }
  return places.majority(places.members_with.size() > 1 ? kPoolMajority : 1).value_or("");
}

// The fabric rails on which the node has no port.
std::vector<const Rail*> missing_rails(const PoolView& pool, std::size_t position) {
  std::vector<const Rail*> missing;
  for (const Rail& rail : pool.rails) {
    if (rail.fabric && !rail.ports[position]) missing.push_back(&rail);
  }
  return missing;
}

constexpr const char* kMayBeHeld =
    "Nothing, while a pod of the node holds the device; if none does, look for it in lspci and for its "
    "driver in dmesg.";

void check_missing(Report& report) {
  const PoolView& pool = report.pool;
  if (pool.small()) return;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const NodeView& node = *pool.nodes[i];
    const std::vector<const Rail*> missing = missing_rails(pool, i);
    if (missing.empty() || is_planned(node)) continue;
    std::vector<std::string> names, places;
    for (const Rail* rail : missing) {
      if (pool.by_name) names.push_back(rail->name);
      if (const std::string place = place_of(*rail); pool.by_name && !place.empty()) places.push_back(place);
    }
    const std::string elsewhere = places.empty() ? "" : ", on the others at " + some_of(places);
    // A device that was moved into a pod's namespace is not in the node's.
    const bool exclusive = node.table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive;
    const Severity severity = exclusive ? Severity::Info : Severity::Error;
    const auto expected = static_cast<std::size_t>(pool.expected());
    std::string evidence = "has " + std::to_string(expected - missing.size()) + " of " +
                           std::to_string(expected) + " fabric ports that its pool has" + elsewhere;
    if (exclusive) evidence += "; in exclusive RDMA namespace mode a pod may hold it";
    report.add(Code::HcaMissing, severity, &node, names, evidence, exclusive ? kMayBeHeld : "");
  }
}

void check_names(Report& report) {
  const PoolView& pool = report.pool;
  if (pool.small()) return;
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

using Ports = std::set<const Port*>;

// 1 and 2 are the values of NVIDIA's mlxconfig (Firmware Tools, "Using mlxconfig"), which takes the device's
// name; a card's second port is its second function, or the second port of one.
std::string set_link_type(const Port& port, LinkLayer wanted) {
  const bool second = port.number == 2 || port.pci_address.value_or("").ends_with(".1");
  return "If the port leads to the same switches as its pool's, set its link type (likewise of each port "
         "that "
         "is named), and reboot the node: `mlxconfig -d " +
         port.hca + " set LINK_TYPE_P" + (second ? "2" : "1") + "=" +
         (wanted == LinkLayer::InfiniBand ? "1" : "2") + "` (1: InfiniBand, 2: Ethernet).";
}

// A card of NVIDIA's whose link type can be set, and is not that of the others.
bool has_other_link_type(const Port& port, const Port& other) {
  return differ(link_layer_of(port), link_layer_of(other)) && port.driver == other.driver &&
         port.driver.value_or("").starts_with("mlx") && !differ(port.board_id, other.board_id);
}

// Returns the ports of which the link type says more than their state.
Ports check_hardware(Report& report) {
  // An example of the rail's usual kind: any port of that kind will do.
  std::map<std::string, const Port*> example;
  for (const FabricPort& each : report.pool.ports) example.try_emplace(kind_of(each.port), &each.port);
  Shares<std::string> kinds;
  for (std::size_t i = 0; i < report.pool.rails.size(); ++i) {
    if (report.pool.rails[i].fabric) kinds.add(i, report.pool.rails[i].kind);
  }
  const auto pools_kind = kinds.majority(kPoolMajority);
  Ports odd_links;
  for (const FabricPort& at : report.pool.ports) {
    const Port& port = at.port;
    // On one or two nodes a rail has no majority; the other rails tell what is usual.
    const std::string& usual = report.pool.small() && pools_kind ? *pools_kind : at.rail.kind;
    const auto found = example.find(usual);
    if (found == example.end()) continue;
    const Port& other = *found->second;
    if (has_other_link_type(port, other)) {
      const LinkLayer wanted = *link_layer_of(other);
      odd_links.insert(&port);
      report.add(Code::HardwareDiffers, Severity::Error, at,
                 "its link type is " + std::string(to_string(*link_layer_of(port))) +
                     (is_down(port) ? ", and it is " + std::string(to_string(*port.state)) : "") +
                     "; that of the same card of its pool is " + std::string(to_string(wanted)),
                 set_link_type(port, wanted));
      continue;
    }
    const bool other_driver =
        differ(port.driver, other.driver) || differ(link_layer_of(port), link_layer_of(other));
    if (!other_driver && !differ(port.board_id, other.board_id)) continue;
    report.add(Code::HardwareDiffers, other_driver ? Severity::Error : Severity::Warning, at,
               "is " + kind_of(port) + "; its pool has " + usual + " there");
  }
  return odd_links;
}

std::string state_text(const Port& port) {
  std::string text(to_string(*port.state));
  if (port.state_since) text += " since " + format_timestamp(*port.state_since);
  return text;
}

// "": the code's.
std::string remedy_for(const Port& port, bool netdev_set_down) {
  if (netdev_set_down)
    return "Bring the netdev up (`nccl-env nodes NAME` names it; `ip link set NETDEV up`), and find what set "
           "it "
           "down: netplan, a network operator, a person.";
  if (link_layer_of(port) == LinkLayer::InfiniBand && port.state != PortState::Down)
    return "The link is up, and the port waits for the subnet manager: see that one runs and reaches the "
           "node.";
  return {};
}

// False also where it is not known.
bool is_netdev_set_down(const NodeView& node, const Port& port) {
  const std::vector<std::string_view> netdevs = netdevs_of(port);
  return std::ranges::any_of(netdevs, [&](const std::string_view name) {
    const Interface* interface = node.interfaces.find(name);
    return interface && interface->up == false;
  });
}

void check_down(Report& report, const Ports& told) {
  const bool small = report.pool.small();
  const auto down = [](const FabricPort& at) { return std::optional(is_down(at.port)); };
  const auto up = [](const auto&, const Rail&) { return std::optional(false); };
  compare_ports(report.pool, small, down, up, [&](const FabricPort& at, const auto& odd, const auto& shares) {
    if (told.contains(&at.port)) return;
    const bool set_down = is_netdev_set_down(at.node, at.port);
    report.add(Code::PortDown, Severity::Error, at,
               state_text(at.port) + (set_down ? ", and its netdev is set down" : "") + "; Active on " +
                   std::to_string(odd.others.count) + " of " +
                   count_of(shares.known, small ? "fabric port" : "node") + " of its pool",
               remedy_for(at.port, set_down));
  });
}

}  // namespace

void check_presence(Report& report) {
  check_missing(report);
  check_names(report);
  check_down(report, check_hardware(report));
}

namespace {

std::string ago(std::chrono::seconds age) {
  const bool minutes = age < std::chrono::hours(2);
  const auto number = minutes ? age / std::chrono::minutes(1) : age / std::chrono::hours(1);
  return count_of(static_cast<std::size_t>(number), minutes ? "minute" : "hour") + " ago";
}

void check_age(Report& report) {
  for (const NodeView* node : report.pool.nodes) {
    if (!node->table->time) continue;
    const auto age = report.input.now - *node->table->time;
    const std::string seen = "observed " + format_timestamp(*node->table->time);
    if (age > report.input.max_table_age) {
      report.add(Code::StaleTable, Severity::Warning, node, {}, seen + ", " + ago(age));
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

// Two modes in one pool: a few nodes were set up otherwise; more of them may be a plan.
void check_namespace_mode(Report& report) {
  Shares<RdmaNamespaceMode> modes;
  for (std::size_t i = 0; i < report.pool.nodes.size(); ++i) {
    if (const auto& mode = report.pool.nodes[i]->table->rdma_namespace_mode) modes.add(i, *mode);
  }
  for (const auto& odd : odd_ones(modes, modes.most([](RdmaNamespaceMode) { return 0; }))) {
    const Severity severity = odd.members.size() * 4 <= modes.known ? Severity::Warning : Severity::Info;
    for (const std::size_t i : odd.members)
      report.add(Code::NamespaceModeDiffers, severity, report.pool.nodes[i], {},
                 std::string(to_string(odd.value)) + "; " + std::to_string(odd.others.count) + " of " +
                     count_of(modes.known, "node") + " of its pool are " +
                     std::string(to_string(*odd.usual)));
  }
}

}  // namespace

void check_node(Report& report) {
  check_age(report);
  check_management(report);
  check_namespace_mode(report);
}

namespace {

// The reason's sentence; the finding's subject names the node.
std::string detail_of(const NodeView& node) {
  const std::string& name = node.table->name;
  return node.detail.starts_with(name + ": ") ? node.detail.substr(name.size() + 2) : node.detail;
}

void add_no_fabric(Report& report, const NodeView& of, const NodeView* subject, Severity severity,
                   const std::string& where) {
  report.add(Code::NoFabric, severity, subject, {},
             where + std::string(to_string(*of.reason)) + ": " + detail_of(of),
             std::string(remedy(*of.reason)));
}

}  // namespace

void check_no_fabric(Report& report, const std::set<const NodeView*>& told) {
  std::vector<const NodeView*> without;
  for (const NodeView* node : report.pool.nodes) {
    if (node->reason && !told.contains(node)) without.push_back(node);
  }
  if (without.size() * 2 > report.pool.nodes.size() && !report.pool.small()) {
    add_no_fabric(report, *without.front(), nullptr, Severity::Warning,
                  "on " + std::to_string(without.size()) + " of " +
                      count_of(report.pool.nodes.size(), "node") + ", " + without.front()->table->name +
                      " for one: ");
    return;
  }
  for (const NodeView* node : without) {
    // Where pods hold some of the devices, the others may be too few to recognize the fabric.
    const bool held = node->table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive &&
                      node->reason == Reason::AmbiguousFabric;
    add_no_fabric(report, *node, node, held ? Severity::Info : Severity::Error,
                  held ? "in exclusive RDMA namespace mode a pod may hold the others; " : "");
  }
}

// A node of another kind, such as a control plane's, has no hardware by right.
void check_bare(const std::vector<NodeView>& views, std::vector<Finding>& findings) {
  for (const NodeView& view : views) {
    if (!view.parts.empty()) continue;
    findings.push_back(
        {Code::NoFabric, Severity::Info, of_node(view.table->name), "its table holds no RDMA hardware",
         "Nothing, where the node has none; else look for the card in lspci and for its driver in dmesg."});
  }
}

}  // namespace nccl_env::doctor
