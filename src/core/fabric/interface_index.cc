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
    Entry& into = found->second;
    for (const auto& [address, prefix] : *interface.addresses) {
      // IPv6 has single addresses of DHCP beside those of the subnet, which are no less the host's.
      const bool alone = address.is_v4() && prefix == 32;
      into.addresses.emplace_back(address, alone);
      into.has_subnet =
          into.has_subnet || (address.is_v4() && !alone && !Gid{address.bytes}.is_v4_link_local());
    }
    std::sort(into.addresses.begin(), into.addresses.end());
  }
}

const Interface* InterfaceIndex::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.interface;
}

bool InterfaceIndex::carries(const Interface& interface, const IpAddress& address) const {
  const auto found = by_name_.find(interface.name);
  if (found == by_name_.end()) return false;
  const auto& addresses = found->second.addresses;
  const auto at = std::lower_bound(addresses.begin(), addresses.end(), std::pair(address, false));
  return at != addresses.end() && at->first == address;
}

bool InterfaceIndex::is_beside(const Interface& interface, const IpAddress& address) const {
  const auto found = by_name_.find(interface.name);
  if (found == by_name_.end() || !found->second.has_subnet) return false;
  return std::binary_search(found->second.addresses.begin(), found->second.addresses.end(),
                            std::pair(address, true));
}

}  // namespace nccl_env
