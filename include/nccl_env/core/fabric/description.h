// SPDX-License-Identifier: Apache-2.0
// NodeFabric, field by field. What people read of a field beyond its sentence stands in
// docs/reference/node-fabric.md.
#pragma once

#include <climits>

#include "nccl_env/core/described/kinds.h"
#include "nccl_env/core/fabric/gid_row.h"
#include "nccl_env/core/fabric/node_fabric.h"

namespace nccl_env::described {

template <>
inline constexpr std::array words_of<LinkLayer> = {Words<LinkLayer>{"Ethernet", LinkLayer::Ethernet},
                                                   Words<LinkLayer>{"InfiniBand", LinkLayer::InfiniBand},
                                                   Words<LinkLayer>{"Unspecified", LinkLayer::Unspecified}};
template <>
inline constexpr std::array words_of<Transport> = {
    Words<Transport>{"InfiniBand", Transport::InfiniBand}, Words<Transport>{"RoCE", Transport::RoCE},
    Words<Transport>{"iWARP", Transport::iWARP}, Words<Transport>{"eRDMA", Transport::eRDMA}};
template <>
inline constexpr std::array words_of<PortState> = {
    Words<PortState>{"Active", PortState::Active}, Words<PortState>{"Armed", PortState::Armed},
    Words<PortState>{"Init", PortState::Init}, Words<PortState>{"Down", PortState::Down}};
template <>
inline constexpr std::array words_of<GidType> = {Words<GidType>{"IB", GidType::IB},
                                                 Words<GidType>{"RoCEv1", GidType::RoCEv1},
                                                 Words<GidType>{"RoCEv2", GidType::RoCEv2}};
template <>
inline constexpr std::array words_of<RdmaNamespaceMode> = {
    Words<RdmaNamespaceMode>{"shared", RdmaNamespaceMode::Shared},
    Words<RdmaNamespaceMode>{"exclusive", RdmaNamespaceMode::Exclusive}};
template <>
inline constexpr std::array words_of<Unavailable> = {
    Words<Unavailable>{"NoVerbs", Unavailable::NoVerbs},
    Words<Unavailable>{"OtherNamespace", Unavailable::OtherNamespace}};

// The texts of a table.
namespace table {

Result<std::string> parse_printable(std::string_view text);
Result<std::string> parse_hca(std::string_view text);
Result<std::string> parse_netdev(std::string_view text);
Result<std::string> parse_priorities(std::string_view text);
Result<std::string> parse_dscp_priorities(std::string_view text);
Result<std::string> parse_label_key(std::string_view text);
Result<std::string> parse_label_value(std::string_view text);
Result<InterfaceAddress> parse_interface_address(std::string_view text);
std::string format_interface_address(const InterfaceAddress& address);
std::string format_key(const std::uint16_t& key);
std::string same(const std::string& text);

inline constexpr Text<std::string> kPrintable{
    parse_printable, same, 1, 128, "[ -~]+", "MT_0000000223", "At most 128 printable ASCII characters."};
inline constexpr Text<std::string> kHca{parse_hca, same,          1, 63, "[A-Za-z0-9][A-Za-z0-9_.-]*",
                                        "mlx5_1",  "An HCA name."};
inline constexpr Text<std::string> kNetdev{parse_netdev,    same, 1, 15, R"([!-+\-.0-9;<>-\]_-~]+)", "eth1",
                                           "A netdev name."};
inline constexpr Text<std::string> kPciAddress{parse_pci_address,
                                               same,
                                               12,
                                               16,
                                               R"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])",
                                               "0000:53:00.0",
                                               "`DDDD:BB:DD.F` in hex, written in lower case."};
inline constexpr Text<std::string> kGuid{parse_guid,
                                         same,
                                         19,
                                         19,
                                         "[0-9a-fA-F]{4}(:[0-9a-fA-F]{4}){3}",
                                         "b83f:d203:00b4:f5a2",
                                         "Four groups of four hex digits, written in lower case."};
inline constexpr Text<std::string> kPriorities{parse_priorities, same, 1, 8, "[0-7]{1,8}", "3",
                                               "A digit each."};
inline constexpr int kDscps = 64;
inline constexpr Text<std::string> kDscpPriorities{
    parse_dscp_priorities,
    same,
    kDscps,
    kDscps,
    "[-0-7]{64}",
    "0000000011111111222222223333333344444444555555556666666677777777",
    "64 digits, from DSCP 0 on; `-`: unknown."};
inline constexpr Text<std::string> kLabelKey{
    parse_label_key,
    same,
    1,
    317,
    R"(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)",
    "topology.kubernetes.io/zone",
    "As Kubernetes takes it: at most 253 bytes, `/`, and 63."};
inline constexpr Text<std::string> kLabelValue{parse_label_value,
                                               same,
                                               0,
                                               63,
                                               "([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?",
                                               "b",
                                               "As Kubernetes takes it: at most 63 bytes; may be empty."};
inline constexpr Text<Gid> kGid{parse_gid,
                                format_gid,
                                2,
                                45,
                                "[0-9a-fA-F:.]+",
                                "0000:0000:0000:0000:0000:ffff:190b:8002",
                                "Eight groups of four hex digits, or a short IPv6 form."};
inline constexpr Text<IpAddress> kAddress{
    parse_ip, format_ip, 2, 45, "[0-9a-fA-F:.]+", "25.11.128.2", "An IPv4 or IPv6 address."};
inline constexpr Text<InterfaceAddress> kInterfaceAddress{
    parse_interface_address, format_interface_address, 4, 49, "[0-9a-fA-F:.]+/[0-9]{1,3}",
    "25.11.128.2/27",        "`ADDRESS/PREFIX` each."};
inline constexpr Text<std::uint16_t> kKey{
    parse_partition_key,
    format_key,
    6,
    6,
    "0x[0-9a-fA-F]{4}",
    "0x8001",
    "`0x` and four hex digits, of which the last 15 bits are not zero."};
inline constexpr Text<GidRow> kRow{
    parse_gid_row,
    format_gid_row,
    4,
    128,
    R"([0-9]{1,5}( (IB|RoCEv1|RoCEv2))?( gid)? [0-9a-fA-F:.]{2,45}( dev [!-+\-.0-9;<>-\]_-~]{1,15})?( since [0-9TZtz:.+-]{20,35})?)",
    "3 RoCEv2 25.11.128.2 dev eth1 since 2026-11-20T07:00:00Z",
    "A text each."};
inline constexpr Number kRate{0, 100'000, 200};  // fifty times a port of XDR with twelve lanes

inline constexpr int most(std::size_t bound) {
  return static_cast<int>(bound);
}

}  // namespace table

template <>
inline constexpr auto fields_of<GidRow> = std::tuple{
    Field{"index", &GidRow::index, Int{0, kMaxGidIndex, 3},
          "Place in the table, what NCCL_IB_GID_INDEX names."},
    Field{"gid", &GidRow::gid, table::kGid, "The GID, also beside an address."},
    Field{"type", &GidRow::type, Word<GidType>{}, "Which kind of GID it is."},
    Field{"address", &GidRow::address, table::kAddress, "The IP address that the GID carries.",
          "the row stands for no address, or it is unknown"},
    Field{"netdev", &GidRow::netdev, table::kNetdev, "The interface that owns the address."},
    Field{"indexSince", &GidRow::index_since, Time{},
          "Since when the address has this index, where it had another before since the node booted.",
          "the address had no other index, as far as is known"}};
static_assert(is_described_once<GidRow>());

template <>
inline constexpr auto fields_of<PartitionKey> =
    std::tuple{Field{"index", &PartitionKey::index, Int{0, table::most(kMaxPortKeys) - 1, 1},
                     "Place in the table, what NCCL_IB_PKEY names."},
               Field{"key", &PartitionKey::key, table::kKey,
                     "The key; bit 15 says full membership, and the other bits name the partition."}};
static_assert(is_described_once<PartitionKey>());

template <>
inline constexpr auto fields_of<Port> = std::tuple{
    Field{"hca", &Port::hca, table::kHca, "Name of the RDMA device."},
    Field{"port", &Port::number, Int{1, 255}, "Number of the port."},
    Field{"unavailable", &Port::unavailable, Word<Unavailable>{},
          "Why no program of the node can open the device: it has no uverbs device (NoVerbs), as a subnet "
          "manager's smi1; or a pod holds it, in exclusive mode (OtherNamespace).",
          "nothing speaks against it"},
    Field{"linkLayer", &Port::link_layer, Word<LinkLayer>{}, "Link layer of the port."},
    Field{"transport", &Port::transport, Word<Transport>{}, "Transport of the port."},
    Field{"state", &Port::state, Word<PortState>{}, "State of the port."},
    Field{"stateSince", &Port::state_since, Time{}, "When this state began, as the agent saw it.",
          "unknown: a port that is down is then taken to have been down for long, and is not listed"},
    Field{
        "rateGbps", &Port::rate_gbps, table::kRate,
        "Width times lane speed. While the port is not Active, this is the value that the driver falls back "
        "to, and it is not used."},
    Field{
        "maxRateGbps", &Port::max_rate_gbps, table::kRate,
        "Highest rate that the port was seen to have while it was Active, since the node booted. With it the "
        "port counts while it is down.",
        "unknown: the rate of its board's other ports counts"},
    Field{"activeMtu", &Port::active_mtu, Int{256, 65536, 4096}, "Bytes."},
    Field{"driver", &Port::driver, table::kPrintable, "Kernel module."},
    Field{"pciAddress", &Port::pci_address, table::kPciAddress, "PCI address, such as 0000:53:00.0.",
          "unknown, or not a PCI device"},
    Field{"pfPciAddress", &Port::pf_pci_address, table::kPciAddress.or_none(),
          "The physical function of a virtual one; empty where it is known to be none."},
    Field{"lag", &Port::lag, table::kNetdev.or_none(),
          "Bond interface of a device that is a LAG; empty where it is known to be none."},
    Field{"netdev", &Port::netdev, table::kNetdev,
          "Interface of the port, where it is known without its GID rows."},
    Field{"numaNode", &Port::numa_node, Int{0, 1023},  // Linux: MAX_NUMNODES is at most 1 << 10
          "NUMA node of the device. Linux's -1 is left out."},
    Field{"boardId", &Port::board_id, table::kPrintable, "Board or PSID, such as MT_0000000223."},
    Field{"sysImageGuid", &Port::sys_image_guid, table::kGuid,
          "System image GUID, such as b83f:d203:00b4:f5a2."},
    Field{"trafficClass", &Port::traffic_class, Int{-1, 255, 106},
          "Traffic class that the driver gives to each packet, whatever a program asks for, as MLNX_OFED's "
          "tc/PORT/traffic_class; -1: none.",
          "unknown, or the driver cannot"},
    Field{"losslessPriorities", &Port::lossless_priorities, table::kPriorities.or_none(),
          "Priorities with flow control (IEEE PFC) on the port's interface."},
    Field{"dscpPriorities", &Port::dscp_priorities, table::kDscpPriorities.or_none(),
          "Priority of a packet by its DSCP; empty where the interface goes by VLAN tags instead."},
    Field{"gidTableLength", &Port::gid_table_length, Int{0, kMaxGidIndex + 1, 256},
          "Entries of the GID table."},
    Field{"gidIndexChanges", &Port::gid_index_changes, Int{0, kMaxIndexChanges, 2},
          "How often an address lost its place in the GID table since the node booted.",
          "unknown, or the port never had a routable RoCE v2 row"},
    Field{
        "gidRows", &Port::gids,
        TextsOrOlder<GidRow>{{table::kRow, table::most(kMaxTableRows)},
                             "gids",
                             "The older form of gidRows, an object each. It is still read, but not beside "
                             "gidRows.",
                             {table::most(kMaxTableRows)}},
        "Valid rows of the GID table in the node's network namespace, as INDEX [IB|RoCEv1|RoCEv2] "
        "ADDRESS|gid GID [dev NETDEV] [since TIME]. The table is sparse; an empty list says that there is no "
        "row."},
    Field{
        "gidRowsGone", &Port::gids_gone, Texts<GidRow>{table::kRow, table::most(kMostRowsGone)},
        "Last rows of addresses that have had one since the node booted and have none in gidRows, so that an "
        "agent that starts again knows them.",
        "none is known"},
    Field{"pkeys", &Port::pkeys, Objects<PartitionKey>{table::most(kMaxPortKeys)},
          "Partition table of an InfiniBand port, without its empty entries. At most 4096 in all ports."}};
static_assert(is_described_once<Port>());

template <>
inline constexpr auto fields_of<Interface> =
    std::tuple{Field{"name", &Interface::name, table::kNetdev, "Name of the interface."},
               Field{"addresses", &Interface::addresses,
                     Texts<InterfaceAddress>{table::kInterfaceAddress, table::most(kMaxInterfaceAddresses)},
                     "Its addresses; an empty list says that there is none."},
               Field{"mtu", &Interface::mtu, Int{0, INT_MAX, 4200}, "Bytes."},
               Field{"up", &Interface::up, Bool{},
                     "Whether it is up; for an interface without an HCA, whether it also runs."},
               Field{"master", &Interface::master, table::kNetdev.or_none(),
                     "Bond, bridge or VRF that it is part of; empty where it is known to have none."}};
static_assert(is_described_once<Interface>());

template <>
inline constexpr auto fields_of<NodeLabel> = std::tuple{
    Field{"key", &NodeLabel::key, table::kLabelKey, "Key of the label, such as topology.kubernetes.io/zone."},
    Field{"value", &NodeLabel::value, table::kLabelValue, "Its value.", "the Node does not have the label"}};
static_assert(is_described_once<NodeLabel>());

// `observed`; name and time of writing are the object's.
template <>
inline constexpr auto fields_of<NodeFabric> = std::tuple{
    Field{"time", &NodeFabric::time, Time{}, "When the node was looked at.", "imported by hand: never stale"},
    Field{"bootId", &NodeFabric::boot_id, table::kPrintable, "Linux's boot id."},
    Field{"agentVersion", &NodeFabric::agent_version, table::kPrintable,
          "Release of the agent that wrote this.", "written by no agent"},
    Field{"kubeletVersion", &NodeFabric::kubelet_version, table::kPrintable,
          "Release of the Node's kubelet, such as v1.36.3. EnvFile needs 1.35 or later.",
          "unknown: it counts as new enough"},
    Field{"rdmaNamespaceMode", &NodeFabric::rdma_namespace_mode, Word<RdmaNamespaceMode>{},
          "Whether RDMA devices are visible in all network namespaces (shared) or in one each (exclusive)."},
    Field{"nodeInterface", &NodeFabric::node_interface, table::kNetdev,
          "Interface of the Node's InternalIP, else of the default route."},
    Field{"nodeLabels", &NodeFabric::node_labels, Objects<NodeLabel>{table::most(kMaxNodeLabels)},
          "Labels of the Node that the agent was asked to look for (--node-labels), each key once. Of a key "
          "that is not listed nothing is known.",
          "unknown: an older agent's, or not from a cluster"},
    Field{"ports", &NodeFabric::ports, Objects<Port>{table::most(kMaxTablePorts)},
          "Ports of all RDMA devices, each hca and port once, with at most 4096 GID rows in all."},
    Field{
        "interfaces", &NodeFabric::interfaces, Objects<Interface>{table::most(kMaxTableInterfaces)},
        "Interfaces of HCA ports, their masters, nodeInterface, and others that NCCL could take for sockets; "
        "each name once, in the order of the kernel."}};
static_assert(is_described_once<NodeFabric>(2));

}  // namespace nccl_env::described
