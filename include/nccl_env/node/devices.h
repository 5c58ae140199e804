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

struct DevicePort {
  int number = 1;
  std::optional<LinkLayer> link_layer;
  std::optional<PortState> state;
  std::optional<double> rate_gbps;
  // The kernel prints SDR for every speed that it has no word for (Linux 6.1 for XDR): such a rate is kept
  // only here.
  std::optional<double> sdr_rate_gbps;
  std::optional<int> active_mtu;  // bytes
  std::optional<int> gid_table_length;
  std::optional<std::vector<GidEntry>> gids;       // by index
  std::optional<std::vector<PartitionKey>> pkeys;  // of InfiniBand, by index; those that are not empty
};

struct DeviceNetdev {
  std::string name;
  std::optional<int> dev_port;  // from 0: which port of its PCI function
};

struct RdmaDevice {
  std::string name;
  // The number before the colon of sysfs's node_type, which is enum rdma_node_type of the kernel:
  // 1 CA, 4 RNIC (iWARP).
  std::optional<int> node_type;
  std::optional<std::string> driver;
  std::optional<std::string> pci_address;
  std::optional<std::string> pf_pci_address;
  std::optional<int> numa_node;
  std::optional<std::string> board_id;
  std::optional<std::string> sys_image_guid;
  std::vector<DeviceNetdev> netdevs;  // in our namespace, by name
  std::vector<DevicePort> ports;      // by number
};

// Problems of reading: sentences for the log, each naming device and attribute.
using Problems = std::vector<std::string>;

// Reads everything that sysfs says. Never fails: a device that goes away meanwhile is left out or stays
// incomplete; a value that cannot be read, or is not in the expected form, is absent. Devices are in name
// order.
std::vector<RdmaDevice> read_devices(const Sysfs& sysfs, Problems& problems);

}  // namespace nccl_env::node
