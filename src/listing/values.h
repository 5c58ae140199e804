// SPDX-License-Identifier: Apache-2.0
// The values that listings print: each function reads one whole value or gives nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::listing {

// Decimal digits only, at most `most`.
std::optional<int> read_number(std::string_view text, int most);
// A decimal number, "2.5" or "100".
std::optional<double> read_decimal(std::string_view text);

// Ports of a device are few; the bound keeps a mistyped column from passing as a port.
inline constexpr int kMaxPortNumber = 255;
// sysfs and rdma-core hold table lengths in 16 bits.
inline constexpr int kMaxGidIndex = 65535;

// A PCI device id, which both ibstat (MT4123) and ibv_devinfo print as a decimal number.
inline constexpr int kMostDeviceType = 65535;

std::optional<int> read_port_number(std::string_view text);  // from 1

// Narrower than what Linux allows: no bracket, quote or semicolon that a paste left on a name.
bool is_plain_netdev_name(std::string_view text);

// "Active", "ACTIVE", "Initializing", "INIT", …: the names that ibstat, ibstatus and rdma link use.
std::optional<PortState> read_state_name(std::string_view text);
// The verbs number of a state, as in "PORT_ACTIVE (4)" and "4: ACTIVE".
int state_number(PortState state);

std::optional<LinkLayer> read_link_layer(std::string_view text);

// A GID as listings print it. People mask digits (x, *, #, ?) before they post one: these count as 0.
struct ReadGid {
  Gid gid;
  bool masked = false;
};
// Nothing also where the known digits do not tell whether it is link-local, IPv4 or another address.
std::optional<ReadGid> read_gid(std::string_view text);
bool is_masked(std::string_view text);

// "b83f:d203:00b4:f5a2" or "0xb83fd20300b4f5a2" -> the former; "" for zero, which stands for unknown.
std::optional<std::string> read_guid(std::string_view text);

}  // namespace nccl_env::listing
