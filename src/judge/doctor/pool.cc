// SPDX-License-Identifier: Apache-2.0
#include "doctor/pool.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <tuple>
#include <type_traits>

#include "nccl_env/core/choose/card.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::doctor {
namespace {

bool is_virtual_part(const NodeFabric& table, const Port& port) {
  const std::string pf = port.pf_pci_address.value_or("");
  return !pf.empty() && std::ranges::find(table.ports, pf, &Port::pci_address) != table.ports.end();
}

bool is_hardware(const NodeFabric& table, const Port& port) {
  return link_layer_of(port) != LinkLayer::Unspecified &&
         !is_soft_device(port.hca, port.driver.value_or("")) && !is_virtual_part(table, port);
}

bool port_less(const Port* left, const Port* right) {
  if (left->hca != right->hca) return hca_name_less(left->hca, right->hca);
  return left->number < right->number;
}

void add_ports(const std::vector<const Port*>& ports, std::vector<const Port*>& into) {
  for (const Port* port : ports) {
    if (!has(into, port)) into.push_back(port);
  }
}

// The ports of a node that has fewer than the policy expects: its fabric all the same.
std::vector<const Port*> choose_the_few(const NodeFabric& table, NcclPolicy policy, Timestamp now) {
  policy.fabric.expect_ports.reset();
  for (PolicyVariant& variant : policy.variants) {
    if (variant.fabric) variant.fabric->expect_ports.reset();
  }
  return choose_policy_ports(table, policy, Exposure::Host, now).fabric;
}

// The port belongs to the first policy that takes it. Where the list is refused, no port counts as fabric.
void judge_ports(const PortChoice& choice, const NcclPolicy& policy, std::vector<PortJudgement>& into) {
  into.resize(choice.verdicts.size());
  for (std::size_t i = 0; i < into.size(); ++i) {
    const PortVerdict& verdict = choice.verdicts[i];
    const bool refused = choice.reason && verdict.fabric;
    if (into[i].policy && (into[i].fabric || refused || !verdict.fabric)) continue;
    into[i] = {&policy, verdict.fabric && !refused,
               refused ? std::string(to_string(*choice.reason)) + ": " + choice.detail : verdict.why};
  }
}

void choose_fabric(const DoctorInput& input, NodeView& view) {
  static const NcclPolicy inference{};  // where there are no policies
  std::vector<const NcclPolicy*> policies;
  for (const auto& policy : input.policies) policies.push_back(policy.get());
  if (policies.empty()) policies.push_back(&inference);
  view.policy = policies.front();
  for (const NcclPolicy* policy : policies) {
    PortChoice choice = choose_policy_ports(*view.table, *policy, Exposure::Host, input.now);
    add_ports(choice.ports, view.on_host);
    view.few = view.few || !choice.few.empty();
    if (choice.reason && !view.host_reason) view.host_reason = choice.reason;
    // A port without an address still belongs to the fabric: a check reports it, and hosts of pods with
    // sub-interfaces need no address.
    if (choice.reason && !choice.fabric.empty()) {
      PortChoice without_rows = choose_policy_ports(*view.table, *policy, Exposure::SubInterface, input.now);
      if (!without_rows.reason) choice = std::move(without_rows);
    }
    judge_ports(choice, *policy, view.judged);
    if (choice.reason == Reason::TooFewPorts && choice.fabric.empty())
      choice.fabric = choose_the_few(*view.table, *policy, input.now);
    if (view.fabric.empty() && !choice.fabric.empty()) view.policy = policy;
    add_ports(choice.fabric, view.fabric);
    add_ports(choice.ports, view.offered);
    if (!choice.reason || view.reason) continue;
    view.reason = choice.reason;
    view.detail = choice.detail;
  }
  if (!view.offered.empty()) view.reason.reset();
  if (!view.on_host.empty() || view.offered.empty()) view.host_reason.reset();
}

// The ports that both shapes have, kind by kind.
std::size_t shared_ports(const Shape& left, const Shape& right) {
  std::size_t shared = 0;
  for (const auto& [kind, count] : left) {
    const auto found = right.find(kind);
    shared += found == right.end() ? 0 : std::min(count, found->second);
  }
  return shared;
}

// A glob of the names of an HCA's family: "mlx*_*", "rocep*".
std::string names_like(const std::string& hca) {
  const std::string family = hca_family(hca);
  if (family.size() < hca.size() && hca.starts_with(family)) return family + "*";
  std::string glob;
  for (const char c : hca) {
    if (!is_digit(c) || !glob.ends_with('*')) glob += is_digit(c) ? '*' : c;
  }
  return glob;
}

using Group = std::vector<const NodeView*>;

// The ports by what is known of their cards; a link type can be set.
Shape cards_of(const NodeView& node) {
  Shape cards;
  for (const Port* port : node.parts) ++cards[port->driver.value_or("") + " " + port->board_id.value_or("")];
  return cards;
}

// The same machine with another link type, by which none of its ports comes up.
bool is_dead_likeness(const NodeView& node, const NodeView& other) {
  const auto down = [](const Port* port) { return is_down(*port); };
  return !node.fabric.empty() && std::ranges::all_of(node.fabric, down) && cards_of(node) == cards_of(other);
}

// Whether the nodes of the group are odd members of the larger one rather than a pool of their own: most of
// their ports are alike.
bool belongs_to(const Group& few, const Group& many) {
  if (few.size() >= many.size()) return false;
  if (is_dead_likeness(*few.front(), *many.front())) return true;
  const NodeView &one = *few.front(), &other = *many.front();
  // More of them may be another kind of machine.
  return (few.size() <= 2 || few.size() * 4 <= many.size()) &&
         shared_ports(one.shape, other.shape) * 2 > std::max(one.parts.size(), other.parts.size());
}

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<PoolView>, "its ports refer to its rails");

std::string port_name(const NodeView& node, const Port& port) {
  const auto sibling = [&](const Port& other) { return &other != &port && other.hca == port.hca; };
  const bool several = std::ranges::any_of(node.table->ports, sibling);
  return several || port.number != 1 ? port.hca + ":" + std::to_string(port.number) : port.hca;
}

std::string kind_of(const Port& port) {
  std::string kind;
  const auto add = [&](std::string_view word) {
    if (!word.empty()) kind.append(kind.empty() ? "" : " ").append(word);
  };
  if (const auto link_layer = link_layer_of(port)) add(to_string(*link_layer));
  add(port.driver.value_or(""));
  add(port.board_id.value_or(""));
  if (!port.driver && !port.board_id) add(names_like(port.hca));
  return kind;
}

std::string shape_text(const Shape& shape) {
  return join(shape, ", ", [](const auto& part) { return std::to_string(part.second) + " x " + part.first; });
}

bool is_down(const Port& port) {
  return port.state && *port.state != PortState::Active;
}

bool has(const std::vector<const Port*>& ports, const Port* port) {
  return std::ranges::find(ports, port) != ports.end();
}

Rows rows_of(const NodeView& node, const Port& port) {
  Rows rows;
  if (!is_roce(port) || is_down(port) || !port.gids) return rows;
  rows.known = true;
  rows.why = "it has no GID row";
  const std::vector<Cidr>& subnets = fabric_subnets(*node.policy, *node.table);
  for (const GidRow& row : *port.gids) {
    const RowVerdict verdict = judge_row(node.interfaces, row, subnets);
    rows.known = rows.known && verdict.known;
    const bool v4 = row.gid.is_v4_mapped();
    if (verdict.usable && (!rows.first || (v4 && !rows.v4))) rows.first = row.index;
    if (verdict.usable) rows.usable.push_back(row.index);
    if (verdict.usable) (v4 ? rows.v4 : rows.v6) = true;
    rows.v1_address = rows.v1_address || (row.type == GidType::RoCEv1 && row.gid.is_v4_mapped());
    rows.only_v1 = rows.only_v1 && (row.gid.is_zero() || row.type == GidType::RoCEv1);
    if (!verdict.usable && !row.gid.is_zero())
      rows.why = "row " + std::to_string(row.index) + ": " + verdict.why;
  }
  return rows;
}

std::size_t PoolView::expected() const {
  return static_cast<std::size_t>(std::ranges::count(rails, true, &Rail::fabric));
}

NodeView view_node(const NodeFabric& table, const DoctorInput& input) {
  NodeView view(table);
  for (const Port& port : table.ports) {
    if (is_hardware(table, port)) view.parts.push_back(&port);
  }
  std::ranges::sort(view.parts, port_less);
  for (const Port* port : view.parts) ++view.shape[kind_of(*port)];
  choose_fabric(input, view);
  NcclPolicy policy = *view.policy;
  if (!view.offered.empty()) view.given = choose_gid(table, view.offered, policy, Exposure::Host, input.now);
  const auto is_served = [&](const Port* port) { return !rows_of(view, *port).usable.empty(); };
  std::ranges::copy_if(view.fabric, std::back_inserter(view.served), is_served);
  if (view.served.empty()) return view;
  // Without a policy nothing says that NCCL is one that finds the rows by itself.
  if (input.policies.empty()) policy.gid_index.kind = GidIndexRule::Kind::Pin;
  const GidChoice choice = choose_gid(table, view.served, policy, Exposure::Host, input.now);
  view.served_index = choice.index;
  view.uniform = choice.reason != Reason::GidNotUniform;
  return view;
}

namespace {

using Names = std::vector<std::string>;

bool pci_less(const Port* left, const Port* right) {
  return std::tie(left->pci_address, left->number) < std::tie(right->pci_address, right->number);
}

std::vector<const Port*> sorted_parts(const NodeView& node, bool by_name) {
  std::vector<const Port*> parts = node.parts;
  const auto is_placed = [](const Port* port) { return port->pci_address.has_value(); };
  if (!by_name && std::ranges::all_of(parts, is_placed)) std::ranges::stable_sort(parts, pci_less);
  return parts;
}

Names names_of(const NodeView& node) {
  Names names;
  for (const Port* port : node.parts) names.push_back(port_name(node, *port));
  return names;
}

// The node whose names are the pool's: those of most nodes, else of the one with most ports.
const NodeView* find_model(const PoolView& pool, bool& shared) {
  Shares<Names> shares;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) shares.add(i, names_of(*pool.nodes[i]));
  const Members& alike = shares.members_with.at(*shares.most(&Names::size));
  // Where names come from the MAC address, no two nodes have the same names.
  shared = alike.size() > 1 || pool.small();
  return pool.nodes[alike.front()];
}

// By their names, where nodes share them. What remains on both sides are the same ports under other names, in
// order.
void match_ports(const NodeView& node, std::size_t position, PoolView& pool) {
  std::vector<const Port*> left;
  for (const Port* port : sorted_parts(node, pool.by_name)) {
    const std::string name = port_name(node, *port);
    const auto rail = pool.by_name ? std::ranges::find(pool.rails, name, &Rail::name) : pool.rails.end();
    if (rail == pool.rails.end()) {
      left.push_back(port);
    } else {
      rail->ports[position] = port;
    }
  }
  auto next = left.begin();
  for (Rail& rail : pool.rails) {
    if (rail.ports[position] || next == left.end()) continue;
    rail.ports[position] = *next;
    if (pool.by_name) pool.strays.push_back({&node, &rail, *next});
    ++next;
  }
  for (; next != left.end(); ++next) pool.strays.push_back({&node, nullptr, *next});
}

// A port that went down lately has been up: later it was perhaps taken out on purpose, as alerts take it.
constexpr std::chrono::hours kLately{72};

bool is_second_port(const NodeView& node, const Port& port) {
  return std::ranges::any_of(node.fabric, [&](const Port* other) {
    return other != &port && !is_down(*other) && are_on_one_card(*other, port) == true;
  });
}

// True for an address that reaches other nodes, also of an interface that is down with the port, and for
// InfiniBand with a cable.
bool is_set_up(const Port& port) {
  if (link_layer_of(port) == LinkLayer::InfiniBand) return port.state != PortState::Down;
  const std::vector<GidRow> rows = port.gids.value_or(std::vector<GidRow>{});
  return std::ranges::any_of(
      rows, [](const GidRow& row) { return row.address && !row.gid.is_link_local() && !row.gid.is_zero(); });
}

// The policy wants more ports than are up, or names the port by more than a glob that takes all.
bool is_wanted(const NodeView& node, const Port& port) {
  if (node.reason == Reason::TooFewPorts || node.few) return true;
  const FabricRule* rule = fabric_rule(*node.policy, *node.table).rule;
  return rule && std::ranges::any_of(rule->hcas, [&](const std::string& glob) {
           return glob.find_first_of("*?") == glob.npos && glob_matches(glob, port.hca);
         });
}

// Ports without a cable are no fault on most nodes of a pool: nothing tells that they were ever up, no policy
// wants them, and they are not set up, or are the second ports of their cards.
bool is_spare(const NodeView& node, const Port& port, Timestamp now) {
  const bool lately = port.state_since && now - *port.state_since < kLately;
  return is_down(port) && !lately && !is_wanted(node, port) &&
         (is_second_port(node, port) || !is_set_up(port));
}

// Marks the rails that are fabric on most nodes that have them; of one or two nodes, on any. A rail of spare
// ports is none, unless the whole fabric has no cable.
void mark_fabric(PoolView& pool, Timestamp now) {
  std::vector<Rail*> fabric, cabled;
  for (Rail& rail : pool.rails) {
    std::size_t count = 0, there = 0, spare = 0;
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      const NodeView& node = *pool.nodes[i];
      if (!rail.ports[i]) continue;
      spare += is_spare(node, *rail.ports[i], now) ? 1 : 0;
      if (node.fabric.empty()) continue;  // where nothing tells the fabric
      ++there;
      count += has(node.fabric, rail.ports[i]) ? 1 : 0;
    }
    if (pool.small() ? count == 0 : there < 2 || count * 2 <= there) continue;
    fabric.push_back(&rail);
    if (spare * 2 <= count) cabled.push_back(&rail);
  }
  for (Rail* rail : cabled.empty() ? fabric : cabled) rail->fabric = true;
}

// Fills the pool's rails from its nodes.
void match_rails(PoolView& pool, Timestamp now) {
  const NodeView* model = find_model(pool, pool.by_name);
  if (!pool.by_name) model = pool.nodes.front();  // of the pool's shape
  for (const Port* port : sorted_parts(*model, pool.by_name)) {
    Rail& rail = pool.rails.emplace_back();
    rail.name = port_name(*model, *port);
    rail.ports.resize(pool.nodes.size());
  }
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) match_ports(*pool.nodes[i], i, pool);
  const auto first = [](const std::string&) { return 0; };  // of equally frequent ones
  for (Rail& rail : pool.rails) rail.kind = rail_shares(rail, kind_of).most(first).value_or("");
  mark_fabric(pool, now);
  for (Rail& rail : pool.rails) {
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      if (!rail.fabric || !rail.ports[i]) continue;
      rail.members.push_back(pool.ports.size());
      pool.ports.push_back({*pool.nodes[i], rail, *rail.ports[i], rows_of(*pool.nodes[i], *rail.ports[i])});
    }
  }
}

}  // namespace

std::vector<PoolView> make_pools(const std::vector<NodeView>& nodes, Timestamp now) {
  std::map<Shape, Group> by_shape;
  for (const NodeView& node : nodes) {
    if (!node.parts.empty()) by_shape[node.shape].push_back(&node);
  }
  std::vector<Group> groups;
  groups.reserve(by_shape.size());
  for (auto& [shape, group] : by_shape) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::greater(), [](const Group& group) {
    return std::pair(group.size(), group.front()->parts.size());
  });
  std::vector<PoolView> pools;  // the first node of each is of the pool's shape
  for (Group& group : groups) {
    const auto home =
        std::ranges::find_if(pools, [&](const PoolView& pool) { return belongs_to(group, pool.nodes); });
    Group& nodes_there = home == pools.end() ? pools.emplace_back().nodes : home->nodes;
    nodes_there.insert(nodes_there.end(), group.begin(), group.end());
  }
  std::ranges::stable_sort(pools, std::greater(), [](const PoolView& pool) { return pool.nodes.size(); });
  for (std::size_t i = 0; i < pools.size(); ++i) {
    pools[i].name = "pool-" + std::to_string(i + 1);
    match_rails(pools[i], now);
  }
  return pools;
}

}  // namespace nccl_env::doctor
