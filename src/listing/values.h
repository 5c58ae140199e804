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

std::optional<int> read_port_number(std::string_view text);  // from 1

// Narrower than what Linux allows: no bracket, quote or semicolon that a paste left on a name.
bool is_plain_netdev_name(std::string_view text);

// "ACTIVE", "ARMED", "INIT" and "DOWN".
std::optional<PortState> read_state_name(std::string_view text);
// The same as the verbs name and number it: "PORT_ACTIVE", "PORT_ACTIVE (4)".
std::optional<PortState> read_verbs_state(std::string_view text);

}  // namespace nccl_env::listing
