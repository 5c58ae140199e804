// SPDX-License-Identifier: Apache-2.0
// From what the kernel shows to the node's table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/devices.h"
#include "nccl_env/node/netdevs.h"
#include "nccl_env/node/verbs.h"

namespace nccl_env::node {

// Adds what verbs knows: exact GID types, the interface index of each row, speeds, MTU. The devices stay
// those of sysfs. A device that can't be opened, or a query that fails, leaves what sysfs says and a problem.
// An error, and no problem, if not one device could be opened: that is a process without the device files,
// and nothing that is wrong with the devices.
Status add_verbs(std::vector<RdmaDevice>& devices, Verbs& verbs, Problems& problems);

struct TableInputs {
  const std::vector<RdmaDevice>& devices;
  const Netdevs& netdevs;
  // The speed of a netdev that is up, as sysfs prints it; may be null.
  std::function<std::optional<double>(const std::string& netdev)> speed_gbps;
  std::optional<IpAddress> node_address;  // the Node's InternalIP
  bool all_interfaces = false;  // else only those of HCA ports, their masters and the node interface
};

// Joins devices and interfaces. Pure. GID rows that belong to another network namespace are left out: a row
// is ours if its interface, by index or name, is one of ours and carries the row's address, because both
// index and name are those of the namespace where the interface lives. Ports and names that NodeFabric
// refuses are left out with a problem. Name, time and identity of the table are the caller's.
NodeFabric make_table(const TableInputs& inputs, Problems& problems);

struct ProbeOptions {
  const Sysfs* sysfs = nullptr;
  Verbs* verbs = nullptr;  // null: sysfs alone
  bool captured = false;   // sysfs is a copy: interfaces come from it too, and rows can't be told apart
  std::optional<IpAddress> node_address;
  bool all_interfaces = false;
};

struct ProbeResult {
  NodeFabric table;
  Problems problems;
  std::string sysfs_alone;  // why verbs could add nothing to sysfs; "" if it did, or was not asked
};

// Reads everything once. Never fails.
ProbeResult probe(const ProbeOptions& options);

}  // namespace nccl_env::node
