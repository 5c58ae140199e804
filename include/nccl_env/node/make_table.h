// SPDX-License-Identifier: Apache-2.0
// Devices and interfaces of one moment become a table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/devices.h"
#include "nccl_env/node/netdevs.h"

namespace nccl_env::node {

struct TableInputs {
  const std::vector<RdmaDevice>& devices;
  const Netdevs& netdevs;
  // The speed of a netdev that is up, as sysfs prints it; may be null.
  std::function<std::optional<double>(const std::string& netdev)> speed_gbps;
  std::optional<IpAddress> node_address;  // the Node's InternalIP
  bool all_interfaces = false;            // false: only those listed at make_table()
};

// Joins devices and interfaces. Pure. GID rows that belong to another network namespace are left out. A row
// is ours if its interface, found by index or name, is one of ours and carries the row's address (itself, by
// its master, or as the default GID of its MAC); index and name alone prove nothing, because they are of the
// namespace where the interface lives. Ports and names that NodeFabric refuses are left out with a problem.
// Interfaces, in the kernel's order: those of HCA ports, the node interface, the masters of both, and others
// that NCCL could take for sockets: they have an address and are not a veth, which leads to a pod. Unless
// `all_interfaces` is set, these others are `up` only if they also run. The caller sets the table's name,
// time and identity.
NodeFabric make_table(const TableInputs& inputs, Problems& problems);

}  // namespace nccl_env::node
