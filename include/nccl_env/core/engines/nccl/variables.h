// SPDX-License-Identifier: Apache-2.0
// The catalogue of environment variables: what NCCL does with each, from its source, 2.18 to 2.32
// (docs/reference/variables.md gives versions and sources). Values outside its bounds are refused in policies
// and cause a warning in pods.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nccl_env {

enum class ValueKind {
  Integer,        // plain decimal between min and max; NCCL itself takes strtoll(base 0) and checks nothing
  Enum,           // one of `choices`
  HcaList,        // [^][=]NAME[:PORT[:RAIL[:PLANE]]],…
  HcaGroups,      // NAME[:PORT],…;…  exact names, no prefixes
  InterfaceList,  // [^][=]NAME,…
  Cidr,           // one ADDRESS/PREFIX
  Path,           // printable ASCII, no leading ~
  Text,           // printable ASCII
};

// Ranks of a job that need the same value.
enum class Ranks {
  Node,    // belongs to the node: other nodes may need another
  Fabric,  // the same on one fabric: switches or peers expect it, or it is advised
  Equal,   // the same on all ranks, or the job fails
  Any,     // ranks may differ
};
std::string_view to_string(Ranks value);  // node, fabric, equal, any
std::string_view to_string(ValueKind value);

struct Variable {
  std::string_view name;
  ValueKind kind = ValueKind::Text;
  std::int64_t min = 0;                       // Integer only
  std::int64_t max = 0;                       // Integer; lists: how many entries NCCL reads
  std::span<const std::string_view> choices;  // Enum only
  bool ignore_case = false;                   // Enum only
  bool empty_is_unset = false;                // an existing but empty variable acts as if it did not exist
  Ranks ranks = Ranks::Any;
  bool loads_code = false;  // names a library or plugin
  std::string_view note;    // why the bounds are what they are; shown when a value is refused
};

// nullptr for a variable that the catalogue does not hold.
const Variable* find_variable(std::string_view name);
// Whether a variable belongs to NCCL or a related library: RCCL_, UCX_, NVSHMEM_, GLOO_ (docs/use/policy.md,
// env).
bool has_known_prefix(std::string_view name);
std::span<const Variable> all_variables();  // sorted by name

// Says what is wrong with this value: nothing if it is in bounds or the variable is not in the catalogue.
// An empty value is always a problem: it is not the same as unset. Of other engines' variables only NCCL's
// grammar is refused.
std::optional<std::string> value_problem(std::string_view name, std::string_view value);

// "is not a variable of NCCL's: do you mean NCCL_IB_TIMEOUT?", for a name that is nearly one of the
// catalogue's; nothing for any other.
std::optional<std::string> name_problem(std::string_view name);
// Says what is wrong with a variable that a container sets, by its name or its value: "NAME: …". Nothing
// where that is not certain.
std::optional<std::string> setting_problem(std::string_view name, std::string_view value);

// strtoll(text, nullptr, 0) as NCCL reads integers: "022" -> 18, "abc" -> 0, "22abc" -> 22.
// nullopt on overflow, where NCCL takes its default.
std::optional<std::int64_t> nccl_integer(std::string_view text);

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
inline constexpr std::string_view kNvshmemHcaList = "NVSHMEM_HCA_LIST";
}  // namespace variable

}  // namespace nccl_env
