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
  bool all_interfaces = false;            // else those that make_table() names
};

// Joins devices and interfaces. Pure. GID rows that belong to another network namespace are left out: a row
// is ours if its interface, by index or name, is one of ours and carries the row's address, because both
// index and name are those of the namespace where the interface lives. Ports and names that NodeFabric
// refuses are left out with a problem. Interfaces, in the kernel's order: those of HCA ports, their masters,
// the node interface, and of the rest those that NCCL could take for sockets: with an address and not a veth,
// which leads to a pod. `up` of the rest means running, too. Name, time and identity of the table are the
// caller's.
NodeFabric make_table(const TableInputs& inputs, Problems& problems);

}  // namespace nccl_env::node
