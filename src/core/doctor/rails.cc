// SPDX-License-Identifier: Apache-2.0
// Which ports of a pool's nodes are the same rail, and which rails are the fabric.
#include <algorithm>

#include "doctor/pool.h"
#include "fabric/hca_name.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env::doctor {
namespace {

using Names = std::vector<std::string>;

bool port_less(const Port* left, const Port* right) {
  if (left->hca != right->hca) return hca_name_less(left->hca, right->hca);
  return left->number < right->number;
}

bool pci_less(const Port* left, const Port* right) {
  if (left->pci_address != right->pci_address) return left->pci_address < right->pci_address;
  return left->number < right->number;
}

std::vector<const Port*> sorted_parts(const NodeView& node, bool by_name) {
  std::vector<const Port*> parts = node.parts;
  const bool pci = !by_name && std::all_of(parts.begin(), parts.end(),
                                           [](const Port* port) { return port->pci_address.has_value(); });
  std::sort(parts.begin(), parts.end(), pci ? pci_less : port_less);
  return parts;
}

Names names_of(const NodeView& node) {
  Names names;
  for (const Port* port : sorted_parts(node, true)) names.push_back(port_name(*node.table, *port));
  return names;
}

// The node whose names are the pool's: those of most nodes, else of the one with most ports.
const NodeView* find_model(const PoolView& pool, bool& shared) {
  std::map<Names, std::vector<const NodeView*>> by_names;
  for (const NodeView* node : pool.nodes) by_names[names_of(*node)].push_back(node);
  const auto best = std::max_element(by_names.begin(), by_names.end(), [](const auto& l, const auto& r) {
    if (l.second.size() != r.second.size()) return l.second.size() < r.second.size();
    return l.first.size() < r.first.size();
  });
  // With names after the MAC address no two nodes have the same ones.
  shared = best->second.size() > 1 || pool.nodes.size() < kPoolMajority;
  return best->second.front();
}

void match_by_name(const NodeView& node, std::size_t position, PoolView& pool) {
  std::vector<const Port*> left;
  for (const Port* port : sorted_parts(node, true)) {
    const std::string name = port_name(*node.table, *port);
    const auto rail = std::find_if(pool.rails.begin(), pool.rails.end(),
                                   [&](const Rail& candidate) { return candidate.name == name; });
    if (rail == pool.rails.end()) {
      left.push_back(port);
    } else {
      rail->ports[position] = port;
    }
  }
  // What is left on both sides is the same under another name, in order.
  for (Rail& rail : pool.rails) {
    if (rail.ports[position] || left.empty()) continue;
    rail.ports[position] = left.front();
    pool.renamed.push_back({&node, {rail.name, left.front()}});
    left.erase(left.begin());
  }
  if (!left.empty()) pool.extra[&node] = left;
}

void match_by_position(const NodeView& node, std::size_t position, PoolView& pool) {
  const std::vector<const Port*> parts = sorted_parts(node, false);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i < pool.rails.size()) {
      pool.rails[i].ports[position] = parts[i];
    } else {
      pool.extra[&node].push_back(parts[i]);
    }
  }
}

std::string usual_kind(const Rail& rail) {
  std::map<std::string, int> kinds;
  for (const Port* port : rail.ports) {
    if (port) ++kinds[kind_of(*port)];
  }
  const auto most = [](const auto& left, const auto& right) { return left.second < right.second; };
  const auto usual = std::max_element(kinds.begin(), kinds.end(), most);
  return usual == kinds.end() ? std::string() : usual->first;
}

// What would be the fabric if every port were up: all that a node with most ports down can tell.
std::vector<const Port*> fabric_if_up(const NodeView& node, Timestamp now) {
  NodeFabric healed = *node.table;
  for (Port& port : healed.ports) port.state = PortState::Active;
  std::vector<const Port*> ports;
  for (const Port* port : choose_ports(healed, node.policy->fabric, Exposure::Host, now).fabric)
    ports.push_back(&node.table->ports[static_cast<std::size_t>(port - healed.ports.data())]);
  return ports;
}

void mark_fabric(PoolView& pool, Timestamp now) {
  for (Rail& rail : pool.rails) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pool.nodes.size(); ++i)
      count += rail.ports[i] && has(pool.nodes[i]->fabric, rail.ports[i]) ? 1 : 0;
    rail.fabric = pool.small() ? count > 0 : count * 2 > pool.nodes.size();
  }
  if (!pool.small()) return;
  // Of one or two nodes, a port that is down is measured by the ports that are like it.
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const std::vector<const Port*> ports = fabric_if_up(*pool.nodes[i], now);
    for (Rail& rail : pool.rails)
      rail.fabric = rail.fabric || (rail.ports[i] && is_down(*rail.ports[i]) && has(ports, rail.ports[i]));
  }
  if (pool.expected() > 0) return;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const std::vector<const Port*> ports = fabric_if_up(*pool.nodes[i], now);
    for (Rail& rail : pool.rails) rail.fabric = rail.fabric || (rail.ports[i] && has(ports, rail.ports[i]));
  }
}

}  // namespace

void match_rails(PoolView& pool, Timestamp now) {
  const NodeView* model = find_model(pool, pool.by_name);
  if (!pool.by_name) model = pool.nodes.front();  // of the pool's shape
  for (const Port* port : sorted_parts(*model, pool.by_name)) {
    Rail& rail = pool.rails.emplace_back();
    rail.name = port_name(*model->table, *port);
    rail.ports.resize(pool.nodes.size());
  }
  for (std::size_t i = 0; i < pool.nodes.size(); ++i)
    pool.by_name ? match_by_name(*pool.nodes[i], i, pool) : match_by_position(*pool.nodes[i], i, pool);
  for (Rail& rail : pool.rails) rail.kind = usual_kind(rail);
  mark_fabric(pool, now);
}

}  // namespace nccl_env::doctor
