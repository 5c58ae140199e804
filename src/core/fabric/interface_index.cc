// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/interface_index.h"

#include <algorithm>

namespace nccl_env {

InterfaceIndex::InterfaceIndex(const NodeFabric& table) {
  if (!table.interfaces) return;
  by_name_.reserve(table.interfaces->size());
  for (const Interface& interface : *table.interfaces) {
    const auto [found, added] = by_name_.try_emplace(interface.name);
    if (!added) continue;
    found->second.interface = &interface;
    if (!interface.addresses) continue;
    for (const InterfaceAddress& entry : *interface.addresses)
      found->second.addresses.push_back(entry.address);
    std::sort(found->second.addresses.begin(), found->second.addresses.end());
  }
}

const Interface* InterfaceIndex::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.interface;
}

bool InterfaceIndex::carries(const Interface& interface, const IpAddress& address) const {
  const auto found = by_name_.find(interface.name);
  return found != by_name_.end() &&
         std::binary_search(found->second.addresses.begin(), found->second.addresses.end(), address);
}

}  // namespace nccl_env
