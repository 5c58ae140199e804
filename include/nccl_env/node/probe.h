// SPDX-License-Identifier: Apache-2.0
// Reads what the kernel shows, and makes the node's table of it.
//
//   [ Sysfs ] ------> [ RdmaDevice ]* <--rows, limits-- [ Verbs ]
//                          |
//   netlink ------> [ Netdevs ]
//                          |
//                          v
//                  [ make_table ] ----> NodeFabric, Problems
//                                           ^
//   [ PortHistory ], [ InterfaceHistory ]: what was before
//
//   [ KernelEvents ], [ VerbsEvents ]: that something changed; then all is read again
//
// One look is a value, from what it reads to the table. Only the histories and the events live from look to
// look, and the agent owns them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/devices.h"
#include "nccl_env/node/verbs.h"

namespace nccl_env::node {

struct ProbeOptions {
  const Sysfs* sysfs = nullptr;
  Verbs* verbs = nullptr;  // null: sysfs alone
  bool captured = false;   // sysfs is a copy: interfaces come from it, too, and rows of all namespaces stay
  std::optional<IpAddress> node_address;
  bool all_interfaces = false;
};

struct ProbeResult {
  NodeFabric table;
  Problems problems;
  std::string sysfs_alone;  // why verbs could add nothing to sysfs; "" if they did, or were not used
};

// Reads everything once. Never fails.
ProbeResult probe(const ProbeOptions& options);

}  // namespace nccl_env::node
