// SPDX-License-Identifier: Apache-2.0
// RDMA devices as the kernel shows them, before anything is decided about them: all namespaces' GID rows, and
// every netdev that stands behind a device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/node/sysfs.h"

namespace nccl_env::node {

// One row that is not empty.
struct GidEntry {
  int index = 0;
  Gid gid;
  std::optional<GidType> type;        // absent: not readable, as in rows of other namespaces
  std::optional<std::string> netdev;  // from sysfs: its name in its own namespace, which may not be ours
  std::optional<unsigned> ifindex;    // from verbs: its index in that namespace
};

// A port as its table will have it, without what is decided about it: transport, rows, interface.
struct DevicePort : Port {
  // The kernel prints SDR for every speed that it has no word for (Linux 6.1 for XDR): such a rate is kept
  // only here.
  std::optional<double> sdr_rate_gbps;
  std::optional<std::vector<GidEntry>> entries;  // its GID table, of all namespaces, by index
};

struct DeviceNetdev {
  std::string name;
  std::optional<int> dev_port;  // from 0: which port of its PCI function
};

struct RdmaDevice {
  Port shared;  // what all of its ports have in common, its name among it
  // The number before the colon of sysfs's node_type, which is enum rdma_node_type of the kernel:
  // 1 CA, 4 RNIC (iWARP).
  std::optional<int> node_type;
  std::vector<DeviceNetdev> netdevs;  // in our namespace, by name
  std::vector<DevicePort> ports;      // by number
};

// Problems of reading: sentences for the log, each naming device and attribute.
using Problems = std::vector<std::string>;

// Reads everything that sysfs says. Never fails: a device that goes away meanwhile is left out or stays
// incomplete; a value that cannot be read, or is not in the expected form, is absent. Devices are in name
// order.
//
// `bounded`: no more ports and rows than a table holds, for a copy of sysfs, where links can make endless
// ones. All ports of a node are read, since a table prefers some of them.
std::vector<RdmaDevice> read_devices(const Sysfs& sysfs, Problems& problems, bool bounded = false);

}  // namespace nccl_env::node
