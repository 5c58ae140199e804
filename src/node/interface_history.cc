// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/interface_history.h"

#include <map>
#include <set>
#include <string_view>

#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::node {
namespace {

using Interfaces = std::vector<Interface>;
using ByName = std::map<std::string_view, const Interface*>;

ByName index_of(const Interfaces& interfaces) {
  ByName by_name;
  for (const Interface& interface : interfaces) by_name.emplace(interface.name, &interface);
  return by_name;
}

// Returns the interfaces of ports, the node interface, and the masters of both: they are never held back.
std::set<std::string_view> fabric_interfaces(const NodeFabric& table, const ByName& by_name) {
  std::set<std::string_view> names;
  const auto add = [&](std::string_view name) {
    while (!name.empty() && names.insert(name).second) {
      const auto found = by_name.find(name);
      name = found != by_name.end() && found->second->master ? std::string_view(*found->second->master) : "";
    }
  };
  for (const Port& port : table.ports) {
    for (const std::string_view name : netdevs_of(port)) add(name);
  }
  if (table.node_interface) add(*table.node_interface);
  return names;
}

Interfaces without(const std::set<std::string_view>& names, const Interfaces& interfaces) {
  Interfaces rest;
  for (const Interface& interface : interfaces) {
    if (!names.contains(interface.name)) rest.push_back(interface);
  }
  return rest;
}

}  // namespace

void InterfaceHistory::note(NodeFabric& table, Timestamp now) {
  if (!table.interfaces) return;
  const ByName seen = index_of(*table.interfaces);
  const std::set<std::string_view> fabric = fabric_interfaces(table, seen);
  const bool same = !settled_ || without(fabric, *settled_) == without(fabric, *table.interfaces);
  if (same) {
    different_since_.reset();
  } else if (!different_since_) {
    different_since_ = now;
  }
  if (same || now - *different_since_ >= kSettles) {
    different_since_.reset();
    settled_ = table.interfaces;
    return;
  }
  Interfaces merged;
  std::set<std::string_view> placed;
  for (const Interface& before : *settled_) {
    const auto found = seen.find(before.name);
    if (!fabric.contains(before.name)) {
      merged.push_back(before);
    } else if (found != seen.end()) {
      merged.push_back(*found->second);
      placed.insert(found->first);
    }
  }
  for (const Interface& interface : *table.interfaces) {
    if (fabric.contains(interface.name) && !placed.contains(interface.name)) merged.push_back(interface);
  }
  if (merged.size() <= kMaxTableInterfaces) table.interfaces = std::move(merged);
}

}  // namespace nccl_env::node
