// SPDX-License-Identifier: Apache-2.0
// InterfaceIndex: the interfaces of one table by name, built once. A table of 4096 rows and 1024 interfaces
// is judged by one look-up per row instead of a search.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

class InterfaceIndex {
 public:
  // Keeps references into the table, which has to outlive it unchanged.
  explicit InterfaceIndex(const NodeFabric& table);

  // nullptr where the interfaces are unknown or hold no such name.
  [[nodiscard]] const Interface* find(std::string_view name) const;
  // Whether the interface, one of the table's, is known to carry the address.
  [[nodiscard]] bool carries(const Interface& interface, const IpAddress& address) const;
  // Whether the address is a /32 beside one of a subnet, as the VIP of keepalived or an egress IP is:
  // it may leave for another host.
  [[nodiscard]] bool is_beside(const Interface& interface, const IpAddress& address) const;
  // The connected network of the row's address, on the row's interface or on that one's master; absent where
  // the table does not know it.
  [[nodiscard]] std::optional<Cidr> network_of(const GidRow& row) const;

 private:
  [[nodiscard]] std::optional<int> prefix_of(const Interface& interface, const IpAddress& address) const;

  struct Entry {
    const Interface* interface = nullptr;
    std::vector<std::pair<IpAddress, int>> addresses;  // sorted; with their prefixes
    bool has_subnet = false;                           // of IPv4
  };
  std::unordered_map<std::string_view, Entry> by_name_;
};

}  // namespace nccl_env
