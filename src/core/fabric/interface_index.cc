// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/interface_index.h"

#include <algorithm>

namespace nccl_env {
namespace {

// IPv6 has single addresses of DHCP beside those of the subnet, which are no less the host's.
constexpr int kSingle = 32;

}  // namespace

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
      into.addresses.emplace_back(address, prefix);
      into.has_subnet =
          into.has_subnet || (address.is_v4() && prefix != kSingle && !Gid{address.bytes}.is_v4_link_local());
    }
    std::sort(into.addresses.begin(), into.addresses.end());
  }
}

const Interface* InterfaceIndex::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.interface;
}

bool InterfaceIndex::carries(const Interface& interface, const IpAddress& address) const {
  return prefix_of(interface, address).has_value();
}

std::optional<int> InterfaceIndex::prefix_of(const Interface& interface, const IpAddress& address) const {
  const auto found = by_name_.find(interface.name);
  if (found == by_name_.end()) return std::nullopt;
  const auto& addresses = found->second.addresses;
  const auto at = std::lower_bound(addresses.begin(), addresses.end(), std::pair(address, 0));
  return at != addresses.end() && at->first == address ? std::optional(at->second) : std::nullopt;
}

std::optional<Cidr> InterfaceIndex::network_of(const GidRow& row) const {
  const IpAddress address = row.address.value_or(row.gid.address());
  const Interface* interface = row.netdev ? find(*row.netdev) : nullptr;
  for (int step = 0; interface && step < 2; ++step) {
    if (const auto prefix = prefix_of(*interface, address)) return Cidr{address, *prefix}.network();
    interface = interface->master ? find(*interface->master) : nullptr;
  }
  return std::nullopt;
}

bool InterfaceIndex::is_beside(const Interface& interface, const IpAddress& address) const {
  const auto found = by_name_.find(interface.name);
  if (found == by_name_.end() || !found->second.has_subnet || !address.is_v4()) return false;
  return std::binary_search(found->second.addresses.begin(), found->second.addresses.end(),
                            std::pair(address, kSingle));
}

}  // namespace nccl_env
