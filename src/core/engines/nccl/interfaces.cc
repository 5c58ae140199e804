// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/interfaces.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Interfaces = std::vector<const Interface*>;

constexpr IpAddress kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

// ncclEnvSocketFamily: exact words, everything else is any.
struct Families {
  bool v4 = true;
  bool v6 = true;
};

Families read_families(const NcclEnv& env) {
  const std::string_view text = nccl_getenv_or_empty(env, "NCCL_SOCKET_FAMILY");
  return {text != "AF_INET6", text != "AF_INET"};
}

// Addresses that are not known may be of either family.
bool has_address(const Interface& interface, bool v4) {
  const auto counts = [v4](const InterfaceAddress& entry) {
    return entry.address.is_v4() == v4 && entry.address != kLoopback;
  };
  return !interface.addresses ||
         std::any_of(interface.addresses->begin(), interface.addresses->end(), counts);
}

// The interfaces in getifaddrs' order as far as the table tells it: all IPv4 addresses come before the
// IPv6 ones, so that an interface with IPv6 alone comes late. Each name once.
Interfaces eligible(const std::vector<Interface>& interfaces, const Families& families,
                    const NcclVersion& version) {
  Interfaces result;
  const bool only_running = version >= nccl_since::kRunningInterfaces;
  for (const bool v4 : {true, false}) {
    for (const Interface& interface : interfaces) {
      const bool running = !only_running || interface.up != false;
      const bool seen = std::any_of(result.begin(), result.end(),
                                    [&](const Interface* other) { return other->name == interface.name; });
      if ((v4 ? families.v4 : families.v6) && running && !seen && has_address(interface, v4))
        result.push_back(&interface);
    }
  }
  return result;
}

// findInterfaces, ncclOsFindInterfaces.
Interfaces matching(const Interfaces& interfaces, const NcclNameList& list) {
  Interfaces result;
  for (const Interface* interface : interfaces)
    if (list.selects(interface->name, -1) && result.size() < kNcclMaxInterfaces) result.push_back(interface);
  return result;
}

// ncclFindInterfaces without a value of the user's.
Interfaces default_choice(const Interfaces& interfaces, const NcclEnv& env, const NcclVersion& version,
                          NcclNotes& notes) {
  const bool knows_virbr = version >= nccl_since::kRunningInterfaces;
  const std::vector<std::string_view> lists =
      knows_virbr ? std::vector<std::string_view>{"ib", "^docker,lo,virbr", "docker", "lo", "virbr"}
                  : std::vector<std::string_view>{"ib", "^docker,lo", "docker", "lo"};
  for (const std::string_view list : lists) {
    Interfaces found = matching(interfaces, parse_nccl_name_list(list, version, kNcclMaxInterfaces));
    if (!found.empty()) return found;
    if (list == "ib" && nccl_getenv_or_empty(env, "NCCL_COMM_ID").size() > 1) {
      notes.push_back(
          "NCCL_COMM_ID is set: NCCL first looks for an interface on its subnet, which is not told here.");
    }
  }
  return {};
}

std::string_view no_interface_error(const NcclVersion& version) {
  return version >= nccl_since::kNoInterfaceIsUsage ? "ncclInvalidUsage" : "ncclInternalError";
}

void note_unknowns(const Interfaces& chosen, const NcclVersion& version, NcclNotes& notes) {
  std::vector<std::string> names;
  for (const Interface* interface : chosen)
    if (!interface->addresses || (version >= nccl_since::kRunningInterfaces && !interface->up))
      names.push_back(interface->name);
  if (!names.empty()) {
    notes.push_back(
        "Addresses or state are not known, and taken as present and running: " + enumerate(names) + ".");
  }
}

void note_user_list(std::string_view text, const NcclNameList& list, const NcclVersion& version,
                    NcclNotes& notes) {
  note_list_limits(list, variable::kSocketIfname, version, notes);
  if (std::string problem = loopback_problem(text, version); !problem.empty())
    notes.add(NcclFault::LoopbackFirst, std::move(problem));
}

// More names would hide the sentence.
constexpr std::size_t kMostNames = 8;

// `up`: those that NCCL may take. Others of the node's that the list takes are down, or have no address.
std::string no_match(std::string_view text, const NcclNameList& list,
                     const std::vector<Interface>& interfaces, const Interfaces& up,
                     const NcclVersion& version) {
  std::vector<std::string> names, idle;
  for (const Interface* interface : up) names.push_back(interface->name);
  for (const Interface& interface : interfaces) {
    if (list.selects(interface.name, -1)) idle.push_back(interface.name);
  }
  return "NCCL_SOCKET_IFNAME=" + in_quotes(text) + " takes none of the node's interfaces that are up" +
         (names.empty() ? "" : " (" + join_some(names, kMostNames) + ")") +
         (idle.empty() ? "" : ": down or without an address is " + join_some(idle, kMostNames)) +
         "; if the process sees no other, initialisation fails (Bootstrap : no socket interface found, " +
         std::string(no_interface_error(version)) + ").";
}

// Says that NCCL_SOCKET_FAMILY leaves none of these interfaces; "" where it is not the cause.
std::string no_family(const NcclEnv& env, const Interfaces& of_any_family, const NcclVersion& version) {
  const Families families = read_families(env);
  if ((families.v4 && families.v6) || of_any_family.empty()) return {};
  std::vector<std::string> names;
  for (const Interface* interface : of_any_family) names.push_back(interface->name);
  return "NCCL_SOCKET_FAMILY=" + std::string(families.v4 ? "AF_INET" : "AF_INET6") + ": no address of " +
         join_some(names, kMostNames) + " is IPv" + (families.v4 ? "4" : "6") +
         "; if the process sees no other, initialisation fails (Bootstrap : no socket interface found, " +
         std::string(no_interface_error(version)) + ").";
}

}  // namespace

std::string loopback_problem(std::string_view text, const NcclVersion& version) {
  const NcclNameList list = parse_nccl_name_list(text, version, kNcclMaxInterfaces);
  if (text.size() < 2 || !list.selects("lo", -1)) return {};
  return "NCCL_SOCKET_IFNAME=" + in_quotes(text) +
         (list.exclude ? " admits lo, which usually comes first."
                       : " takes lo, over which no other host is reached.");
}

std::vector<std::string> nccl_choose_interfaces(const NodeFabric& table, const NcclEnv& env,
                                                const NcclVersion& version, NcclNotes& notes) {
  const std::string_view text = nccl_getenv_or_empty(env, variable::kSocketIfname);
  const bool by_user = text.size() > 1;
  const NcclNameList list = parse_nccl_name_list(text, version, kNcclMaxInterfaces);
  if (by_user)
    note_user_list(text, list, version, notes);
  else if (!text.empty())
    notes.push_back("NCCL_SOCKET_IFNAME=" + in_quotes(text) + " is one character long and counts as unset.");
  if (!table.interfaces) return {};
  const Interfaces all = eligible(*table.interfaces, read_families(env), version);
  const Interfaces chosen = by_user ? matching(all, list) : default_choice(all, env, version, notes);
  if (chosen.empty()) {
    // The process has lo, also where the table does not list it.
    const bool lists_lo = std::any_of(table.interfaces->begin(), table.interfaces->end(),
                                      [](const Interface& interface) { return interface.name == "lo"; });
    const Interfaces any = eligible(*table.interfaces, {}, version);
    NcclNotes of_any;
    std::string family =
        no_family(env, by_user ? matching(any, list) : default_choice(any, env, version, of_any), version);
    if (!family.empty())
      notes.add(NcclFault::NoFamily, std::move(family));
    else if (by_user && (lists_lo || !list.selects("lo", -1)))
      notes.add(NcclFault::NoInterface, no_match(text, list, *table.interfaces, all, version));
    else if (!by_user)
      notes.push_back(
          "No interface that is known is selected; if the process sees no other, initialisation fails "
          "(Bootstrap : no socket interface found, " +
          std::string(no_interface_error(version)) + ").");
  }
  note_unknowns(chosen, version, notes);
  std::vector<std::string> names;
  for (const Interface* interface : chosen) names.push_back(interface->name);
  return names;
}

}  // namespace nccl_env
