// SPDX-License-Identifier: Apache-2.0
// The meaning of single attributes of sysfs. Text that is not in the kernel's own form gives no value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// "0", "12": digits only, no sign, no leading zero, at most `max`.
std::optional<int> parse_number(std::string_view text, int max);
// "4: ACTIVE" -> 4.
std::optional<int> leading_number(std::string_view text, int max);

std::optional<PortState> parse_state(int number);  // enum ib_port_state
std::optional<LinkLayer> parse_link_layer(std::string_view text);

struct Rate {
  double gbps = 0;
  bool sdr = false;  // "SDR", or no word: also what the kernel prints for a speed that it does not know
};
std::optional<Rate> parse_rate(std::string_view text);  // "200 Gb/sec (4X HDR)"

// "Global tclass=106", also before rules for single addresses; "" gives -1: programs have the class that they
// ask for.
std::optional<int> parse_traffic_class(std::string_view text);

// "IB/RoCE v1" is one word for two types; `v1` is what it means on this port, absent if that is not known.
std::optional<GidType> parse_gid_type(std::string_view text, std::optional<GidType> v1);

// The last part of a path that is a PCI address: devices hang below their function (auxiliary bus, virtio).
std::optional<std::string> pci_address_of(std::string_view path);

// 1 to 128 printable characters, as NodeFabric takes them.
std::optional<std::string> parse_label(std::string_view text);

}  // namespace nccl_env::node
