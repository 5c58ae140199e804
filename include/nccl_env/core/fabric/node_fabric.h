// SPDX-License-Identifier: Apache-2.0
// NodeFabric: what one node's RDMA devices and their netdevs look like (docs/reference/node-fabric.md).
// Absent is not false: an empty optional means "not learnt", and nothing may be concluded from it.
//
//   [ NodeFabric ] ----> [ Port ]* ----> [ GidRow ]* ----> Gid, IpAddress
//         |                  |   \----> [ PartitionKey ]*
//         |                  +-- netdev: a name ---+
//         +----> [ Interface ]* <------------------+
//         +----> [ NodeLabel ]*
//
//   [ PackedTable ]: the same in a sixth of the memory    [ InterfaceIndex ]: a table's interfaces by name
//
// A table is a value: the agent, an import or a reader makes it, and nobody changes it then. Snapshots hold
// packed ones; pointers into a table live as long as whoever unpacked it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/result.h"

namespace nccl_env {

enum class LinkLayer { Ethernet, InfiniBand, Unspecified };
enum class Transport { InfiniBand, RoCE, iWARP, eRDMA };
enum class PortState { Active, Armed, Init, Down };
enum class GidType { IB, RoCEv1, RoCEv2 };
enum class RdmaNamespaceMode { Shared, Exclusive };
// Why no program of the node can open a device: it has no uverbs device, as the smiN that a subnet manager's
// tools make of an XDR adapter; or a pod holds it in another network namespace.
enum class Unavailable { NoVerbs, OtherNamespace };

std::string_view to_string(LinkLayer value);
std::string_view to_string(Transport value);
std::string_view to_string(PortState value);
std::string_view to_string(GidType value);
std::string_view to_string(RdmaNamespaceMode value);
std::string_view to_string(Unavailable value);

// Limits of a table: several times what nodes have (a few dozen ports, some hundred with virtual functions;
// GID tables with two dozen valid rows), and low enough that the largest table stays cheap to decide over.
// Probes and importers keep to them, because the reader refuses the whole table for more.
inline constexpr std::size_t kMaxTablePorts = 256;
inline constexpr std::size_t kMaxTableRows = 4096;  // of all ports together; the same for partition keys
inline constexpr std::size_t kMaxPortKeys = 128;    // what the tables of HCAs hold
inline constexpr std::size_t kMaxTableInterfaces = 1024;
inline constexpr std::size_t kMaxInterfaceAddresses = 1024;  // of one interface
inline constexpr int kMaxIndexChanges = 1'000'000;           // counted no further
inline constexpr int kMaxGidIndex = 65535;         // sysfs and rdma-core hold table lengths in 16 bits
inline constexpr std::size_t kMaxNodeLabels = 16;  // that an agent is asked to look for
// An address that comes back is recognised, unless more than this many of its port are gone: IPv6 makes new
// addresses for as long as a node runs. In 256 ports their rows have a third of a MiB.
inline constexpr std::size_t kMostRowsGone = 16;

// Names that may stand in a table, and so in one of NCCL's lists. Probes and importers leave out (or refuse)
// what does not pass, because the reader refuses the whole table for it.
// An HCA: a letter or digit, then letters, digits, '_', '.', '-'; 63 bytes (NCCL up to 2.30.4 copies a list's
// name into 64).
bool is_hca_name(std::string_view name);
// A netdev: 1-15 bytes of printable ASCII without '/', and without NCCL's ',' ':' '^' '='.
bool is_netdev_name(std::string_view name);

// Labels, as the API server takes them. A key has at most 253 bytes, '/' and 63 bytes; a value has at most 63
// bytes and may be empty.
bool is_label_key(std::string_view key);
bool is_label_value(std::string_view value);

struct GidRow {
  int index = 0;  // in the port's table, from 0; tables are sparse
  Gid gid;
  std::optional<GidType> type;
  std::optional<IpAddress> address;   // the IP address of the row, where it stands for one
  std::optional<std::string> netdev;  // the interface that owns the address
  // Time from which the address has this index, if it had another one since the node booted.
  std::optional<Timestamp> index_since = {};
};

// An entry of a port's partition table. Bit 15 of the key means full membership; the other bits name the
// partition.
struct PartitionKey {
  int index = 0;  // what NCCL_IB_PKEY names
  std::uint16_t key = 0;
};
// "0000:53:00.0" and "b83f:d203:00b4:f5a2", in lower case as Linux writes them.
Result<std::string> parse_pci_address(std::string_view text);
Result<std::string> parse_guid(std::string_view text);

// "0x8001": always four digits. parse_partition_key() refuses a key whose low 15 bits are zero: that is an
// empty entry.
std::optional<std::uint16_t> parse_pkey(std::string_view text);
Result<std::uint16_t> parse_partition_key(std::string_view text);
std::string format_partition_key(std::uint16_t key);

struct Port {
  std::string hca;                         // verbs device name
  int number = 1;                          // verbs port, 1-255
  std::optional<Unavailable> unavailable;  // absent: it is not known that nothing can open the device
  std::optional<LinkLayer> link_layer;
  std::optional<Transport> transport;
  std::optional<PortState> state;
  std::optional<Timestamp> state_since;
  std::optional<double> rate_gbps;      // width times lane speed
  std::optional<double> max_rate_gbps;  // the highest that it was seen to have since the node booted
  std::optional<int> active_mtu;        // bytes
  std::optional<std::string> driver;
  std::optional<std::string> pci_address;     // domain:bus:device.function, lower case
  std::optional<std::string> pf_pci_address;  // "" on a device that is known not to be a VF
  std::optional<std::string> lag;             // bond netdev; "" if known not to be a LAG
  std::optional<std::string> netdev;          // the port's netdev, where it is known without its rows
  std::optional<int> numa_node;
  std::optional<std::string> board_id;
  std::optional<std::string> sys_image_guid;
  std::optional<int> traffic_class;  // that the driver gives each packet, whatever a program asks; -1: none
  std::optional<std::string> lossless_priorities;  // those with flow control (PFC), a digit each
  std::optional<std::string> dscp_priorities;      // a digit or '-' for each DSCP; "": it trusts none
  std::optional<int> gid_table_length;
  std::optional<int> gid_index_changes;  // how often an address lost its index since the node booted
  std::optional<std::vector<GidRow>>
      gids;  // valid rows of the node's namespace, by index; empty: known to be none
  std::optional<std::vector<GidRow>> gids_gone;  // last rows of addresses that had one since the node booted
  std::optional<std::vector<PartitionKey>> pkeys;  // InfiniBand's; entries that are not empty, by index
};

struct InterfaceAddress {
  IpAddress address;
  int prefix = 0;

  bool operator==(const InterfaceAddress&) const = default;
};

struct Interface {
  std::string name;
  std::optional<std::vector<InterfaceAddress>> addresses;
  std::optional<int> mtu;
  std::optional<bool> up;
  std::optional<std::string> master;  // bond, bridge or VRF; "" if known to have none

  bool operator==(const Interface&) const = default;
};

struct NodeLabel {
  std::string key;
  std::optional<std::string> value;  // absent: the Node does not have the label

  bool operator==(const NodeLabel&) const = default;
};

struct NodeFabric {
  std::string name;               // the Node's name
  std::optional<Timestamp> time;  // of the observation; absent (imported by hand): never stale
  // When the agent last wrote it, by the API server's clock; absent where no server tells.
  std::optional<Timestamp> written = {};
  std::optional<std::string> boot_id;
  std::optional<std::string> agent_version;
  std::optional<std::string> kubelet_version;  // of the Node: "v1.36.3"
  std::optional<RdmaNamespaceMode> rdma_namespace_mode;
  std::optional<std::string> node_interface;  // netdev of the Node's InternalIP, else of the default route
  std::optional<std::vector<NodeLabel>>
      node_labels;          // each key once; nothing is known of a key that is not here
  std::vector<Port> ports;  // at most kMaxTablePorts
  std::optional<std::vector<Interface>> interfaces;

  // The time from which its age counts: a node's own clock may be hours off.
  [[nodiscard]] const std::optional<Timestamp>& dated() const { return written ? written : time; }
};

}  // namespace nccl_env
