// SPDX-License-Identifier: Apache-2.0
// NCCL's part of the catalogue of variables: what NCCL does with each, from its source, 2.18 to 2.32
// (docs/reference/variables.md gives versions and sources). Values outside its bounds are refused in policies
// and cause a warning in pods.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/variable.h"

namespace nccl_env {

// nullptr for a variable that NCCL's part of the catalogue does not hold.
const Variable* find_nccl_variable(std::string_view name);
std::span<const Variable> nccl_variables();  // sorted by name

// Returns one text for values that NCCL takes alike: without case where it has none, the words of a plain
// list in order, "" for what some variables are where they are not set.
std::string nccl_meaning(const Variable& variable, std::string_view value);

// Says what is wrong with a value of NCCL's variable that is not empty.
std::optional<std::string> nccl_value_problem(const Variable& variable, std::string_view value);
// Whether NCCL_NET names a network that NCCL brings itself: others are a plugin's.
bool is_network_of_nccl(std::string_view name);
// Whether NCCL uses sockets by this setting, whatever devices there are.
bool turns_verbs_off(std::string_view name, std::string_view value);
// Says that this value of NCCL_NET is nearly the name of one of NCCL's own networks; nothing for any other.
std::optional<std::string> network_problem(std::string_view name);

// The name of a level of NCCL_NET_GDR_LEVEL or NCCL_P2P_LEVEL. NCCL prints the name, whether a number or a
// name was given (graph/paths.cc, 2.18 to 2.32): "1" -> PIX, "5" and more -> SYS, "PXB" -> PXB. "" for a text
// that is no level.
std::string_view nccl_level_name(std::string_view text);
// Whether the variable's value is such a level.
bool is_nccl_level(const Variable& variable);

namespace variable {
inline constexpr std::string_view kIbHca = "NCCL_IB_HCA";
inline constexpr std::string_view kIbGidIndex = "NCCL_IB_GID_INDEX";
inline constexpr std::string_view kIbAddrFamily = "NCCL_IB_ADDR_FAMILY";
inline constexpr std::string_view kIbAddrRange = "NCCL_IB_ADDR_RANGE";
inline constexpr std::string_view kIbRoceVersionNum = "NCCL_IB_ROCE_VERSION_NUM";
inline constexpr std::string_view kIbPkey = "NCCL_IB_PKEY";
inline constexpr std::string_view kIbPkeyValue = "NCCL_IB_PKEY_VALUE";
inline constexpr std::string_view kPortRecovery = "NCCL_IB_RESILIENCY_PORT_RECOVERY";
inline constexpr std::string_view kIbDisable = "NCCL_IB_DISABLE";
inline constexpr std::string_view kNet = "NCCL_NET";
inline constexpr std::string_view kConfFile = "NCCL_CONF_FILE";
inline constexpr std::string_view kSocketIfname = "NCCL_SOCKET_IFNAME";
inline constexpr std::string_view kIbSl = "NCCL_IB_SL";
inline constexpr std::string_view kIbTc = "NCCL_IB_TC";
inline constexpr std::string_view kNvshmemHcaList = "NVSHMEM_HCA_LIST";
}  // namespace variable

}  // namespace nccl_env
