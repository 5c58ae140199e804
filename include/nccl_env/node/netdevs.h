// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this process's network namespace, and what it shares with others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/sysfs.h"
#include "nccl_env/result.h"

namespace nccl_env::node {

// A veth: the node's end of a pod's interface, whatever its name. They come and go with pods and carry no
// traffic of the node, so a table does not list them and their events say nothing of it.
inline bool leads_to_pod(std::string_view kind) {
  return kind == "veth";
}

struct Netdev {
  std::string name;
  unsigned index = 0;
  unsigned master = 0;  // index; 0: none
  std::string kind;     // "bond", "vlan", "veth" …; "" for hardware
  int mtu = 0;
  bool up = false;       // administratively: a cable that flaps does not change it
  bool running = false;  // IFF_RUNNING: could carry traffic; a bridge runs if one of its ports does
  std::optional<std::array<std::uint8_t, 6>> mac;          // of Ethernet
  std::optional<std::vector<InterfaceAddress>> addresses;  // absent: not known
};

struct Netdevs {
  std::vector<Netdev> all;     // by index
  unsigned default_route = 0;  // index of the interface with the best default route; 0: none, or several
  bool live = true;  // false: from a copy of sysfs, so the addresses are not known and never will be

  [[nodiscard]] const Netdev* find(std::string_view name) const;
  [[nodiscard]] const Netdev* find(unsigned index) const;
  // The interface that carries the address; loopback only if no other does.
  [[nodiscard]] const Netdev* carrier_of(const IpAddress& address) const;
};

// Over rtnetlink: needs no privilege. An error names the request that failed.
Result<Netdevs> read_netdevs();
// From class/net of a copy of sysfs: names, masters, MTU and state, without addresses and routes.
Netdevs read_netdevs(const Sysfs& sysfs);

// Reads how the kernel shares RDMA devices between network namespaces (`rdma system`), over netlink; needs no
// privilege. An error where the kernel has no RDMA.
Result<RdmaNamespaceMode> read_namespace_mode();

}  // namespace nccl_env::node
