// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/ports.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/timestamp.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Ports = std::vector<const Port*>;

constexpr std::string_view kOnlySockets = "NCCL uses sockets, and none of these ports.";

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string no_network_error(std::string_view name, const NcclVersion& version) {
  return version >= nccl_since::kNetPluginList
             ? "initialisation fails (Failed to initialize any NET plugin)."
             : "initialisation fails (Error: network " + std::string(name) + " not found.).";
}

// Whether NCCL's own IB transport comes into play at all.
bool uses_ib(const NcclEnv& env, const NcclVersion& version, NcclNotes& notes) {
  const auto net = nccl_getenv(env, variable::kNet);
  if (net && net->empty()) {
    notes.push_back("NCCL_NET is set but empty: " + no_network_error("", version));
    return false;
  }
  if (net && equals_ignoring_case(*net, "socket")) {
    notes.push_back("NCCL_NET=" + std::string(*net) + ": " + std::string(kOnlySockets));
    return false;
  }
  if (net && !equals_ignoring_case(*net, "ib")) {
    notes.push_back(
        "NCCL_NET=" + in_quotes(*net) +
        " asks for a network plugin, which reads the variables with code of its own; without it, " +
        no_network_error("", version));
    return false;
  }
  if (nccl_parameter(env, variable::kIbDisable, 0) != 0) {
    const std::string off = "NCCL_IB_DISABLE is not zero: ";
    net ? notes.add(NcclFault::TurnedOff, off + "as NCCL_NET asks for IB, " + no_network_error("IB", version))
        : notes.push_back(off + std::string(kOnlySockets));
    return false;
  }
  return true;
}

// True if NCCL passes over a port before it looks at the list; false also where nothing is known.
bool is_unusable(const Port& port) {
  return (port.state && *port.state != PortState::Active) || port.link_layer == LinkLayer::Unspecified;
}

void note_if_any(const std::vector<std::string>& names, std::string_view before, std::string_view after,
                 NcclNotes& notes, std::optional<NcclFault> fault = {}, std::size_t most = 8) {
  if (names.empty()) return;
  std::string text = std::string(before) + join_some(names, most) + std::string(after);
  fault ? notes.add(*fault, std::move(text)) : notes.push_back(std::move(text));
}

bool is_named_in_full(const NcclNameList& list, const Port& port) {
  return std::any_of(list.entries.begin(), list.entries.end(), [&](const NcclNameList::Entry& entry) {
    return entry.name == port.hca && (entry.port == -1 || entry.port == port.number);
  });
}

std::string state_text(const Port& port) {
  if (!port.state || *port.state == PortState::Active) return "of no link layer";
  return std::string(to_string(*port.state)) +
         (port.state_since ? " since " + format_timestamp(*port.state_since) : "");
}

// Compares the list with the table's ports, whatever their state.
void note_list(const NcclNameList& list, std::string_view text, const NodeFabric& table,
               const NcclVersion& version, NcclNotes& notes) {
  note_list_limits(list, variable::kIbHca, version, notes);
  if (list.entries.empty() && !text.empty()) {
    notes.push_back("NCCL_IB_HCA=" + in_quotes(text) + " names nothing, which NCCL takes as " +
                    (list.exclude ? "no HCA." : "every HCA."));
  }
  std::vector<std::string> unmatched;
  std::vector<std::string> prefixes;
  for (const NcclNameList::Entry& entry : list.entries) {
    NcclNameList single{list.exclude, list.exact, {entry}};
    bool matched = false;
    bool whole = false;
    bool longer = false;  // it takes a neighbour that the list does not name
    for (const Port& port : table.ports) {
      const bool found = single.find(port.hca, port.number) != nullptr;
      matched = matched || found;
      whole = whole || (found && port.hca == entry.name);
      longer = longer || (found && port.hca != entry.name && !is_named_in_full(list, port));
    }
    const std::string port_text = entry.port == -1 ? "" : ":" + std::to_string(entry.port);
    if (!matched) unmatched.push_back(in_quotes(entry.name + port_text));
    if (whole && longer) prefixes.push_back(entry.name);
  }
  const bool chooses = !list.exclude;
  note_if_any(unmatched, "NCCL_IB_HCA names what matches no port: ", ".", notes,
              chooses ? std::optional(NcclFault::NoSuchPort) : std::nullopt);
  note_if_any(prefixes,
              "NCCL_IB_HCA has no '=', so that names match as prefixes, of more than one HCA: ", ".", notes,
              NcclFault::Neighbour);
}

// The ports that pass state, link layer, list and limit, in table order.
Ports filter(const NodeFabric& table, const NcclNameList& list, const NcclVersion& version,
             NcclNotes& notes) {
  Ports chosen;
  std::vector<std::string> passed_over;
  bool in_full = false;  // one of them is named, not only matched
  std::vector<std::string> unknown;
  std::vector<std::string> beyond;
  for (const Port& port : table.ports) {
    if (port.unavailable || !list.selects(port.hca, port.number)) continue;
    if (is_unusable(port)) {
      if (list.exclude || list.entries.empty()) continue;
      passed_over.push_back(port_name(port) + " (" + state_text(port) + ")");
      in_full = in_full || is_named_in_full(list, port);
      continue;
    }
    if (chosen.size() >= static_cast<std::size_t>(nccl_max_hcas(version))) {
      beyond.push_back(port_name(port));
      continue;
    }
    chosen.push_back(&port);
    if (!port.state || !port.link_layer) unknown.push_back(port_name(port));
  }
  note_if_any(passed_over,
              "NCCL uses " + std::to_string(chosen.size()) + " of the " +
                  std::to_string(chosen.size() + passed_over.size()) +
                  " ports that NCCL_IB_HCA names, and silently passes over ",
              ".", notes, in_full ? std::optional(NcclFault::PortDown) : std::nullopt, 3);
  note_if_any(unknown,
              "Taken as Active ports of Ethernet or InfiniBand, because the table does not say: ", ".",
              notes);
  note_if_any(beyond,
              "NCCL " + format_nccl_version(version) + " uses at most " +
                  std::to_string(nccl_max_hcas(version)) + " ports and leaves out ",
              ".", notes);
  return chosen;
}

// pciPathToInt64 on the path's last component, "0000:3b:00.0": all its hexadecimal digits as one number.
std::optional<std::uint64_t> pci_number(const Port& port) {
  if (!port.pci_address) return std::nullopt;
  std::uint64_t number = 0;
  int digits = 0;
  for (const char c : *port.pci_address) {
    if (c == ':' || c == '.') continue;
    const bool decimal = c >= '0' && c <= '9';
    const auto lower = static_cast<char>(c | 0x20);
    if (!decimal && (lower < 'a' || lower > 'f')) return std::nullopt;
    number = number * 16 + static_cast<std::uint64_t>(decimal ? c - '0' : lower - 'a' + 10);
    ++digits;
  }
  return digits > 0 && digits <= 15 ? std::optional(number) : std::nullopt;
}

// ncclIbCompareDevs, after the limit.
void order(Ports& ports, const NcclEnv& env, const NcclVersion& version, NcclNotes& notes) {
  const auto known = [](const Port* port) { return pci_number(*port).has_value(); };
  const auto by_pci = [](const Port* a, const Port* b) { return pci_number(*a) < pci_number(*b); };
  const bool all_known = std::all_of(ports.begin(), ports.end(), known);
  const bool sorts =
      version >= nccl_since::kPciOrder && nccl_parameter(env, "NCCL_IB_DEVICE_PCI_ORDER", 1) != 0;
  if (sorts && all_known) {
    std::stable_sort(ports.begin(), ports.end(), by_pci);
  } else if (sorts && ports.size() > 1) {
    notes.push_back(
        "NCCL orders the ports by PCI address, which is not known for all; they stand in table order.");
  } else if (all_known && !std::is_sorted(ports.begin(), ports.end(), by_pci)) {
    notes.push_back(
        "NCCL numbers the ports as the verbs library lists them (table order), not by PCI address, and "
        "that order may differ between nodes.");
  }
}

// ncclIbFindMatchingDev (2.20 to 2.23) and ncclTopoAutoMerge (from 2.24): one card's ports may become one
// device.
void note_merging(const Ports& ports, const NcclEnv& env, const NcclVersion& version, NcclNotes& notes) {
  if (version < nccl_since::kNicMerging || nccl_parameter(env, "NCCL_IB_MERGE_NICS", 1) == 0) return;
  const auto card = [](const Port& port) {
    const std::string& address = *port.pci_address;
    return std::pair{*port.sys_image_guid, address.substr(0, address.rfind(':'))};
  };
  std::set<std::pair<std::string, std::string>> cards;
  std::vector<std::string> merged;
  for (const Port* port : ports) {
    const bool known = port->pci_address && port->sys_image_guid && !port->sys_image_guid->empty();
    if (known && !cards.insert(card(*port)).second) merged.push_back(port_name(*port));
  }
  const std::string_view by =
      version < nccl_since::kTopologyMerging ? "NCCL_IB_MERGE_NICS" : "NCCL_NET_MERGE_LEVEL";
  note_if_any(merged,
              "On one card with a port before it, and may be merged with it (" + std::string(by) + "): ", ".",
              notes);
}

void note_mixture(const Ports& ports, NcclNotes& notes) {
  std::vector<std::string> ethernet, infiniband;
  for (const Port* port : ports) {
    if (port->link_layer == LinkLayer::Ethernet) ethernet.push_back(port->hca);
    if (port->link_layer == LinkLayer::InfiniBand) infiniband.push_back(port->hca);
  }
  if (ethernet.empty() || infiniband.empty()) return;
  const bool roce = ethernet.size() <= infiniband.size();  // the fewer, which are easier to leave out
  notes.add(NcclFault::MixedLinks,
            "The ports are of two link layers (" + std::string(roce ? "Ethernet: " : "InfiniBand: ") +
                join_some(roce ? ethernet : infiniband, 4) + "); a connection between the two fails.");
}

// ncclIbGetPlaneIndex.
void note_planes(const Ports& ports, const NcclNameList& list, NcclNotes& notes) {
  constexpr int kMaxPlanes = 12;
  constexpr unsigned kReservedBit = 1U << 14U;
  std::set<int> planes;
  for (const Port* port : ports) {
    const NcclNameList::Entry* entry = list.find(port->hca, port->number);
    if (entry != nullptr && entry->plane != -1) planes.insert(entry->plane);
  }
  const auto reserved = [](int plane) { return (static_cast<unsigned>(plane) & kReservedBit) != 0; };
  if (planes.size() > kMaxPlanes || std::any_of(planes.begin(), planes.end(), reserved))
    notes.push_back("NCCL_IB_HCA has more than 12 planes, or one with bit 14 set: initialisation fails.");
}

}  // namespace

std::vector<const Port*> nccl_choose_ports(const NodeFabric& table, const NcclEnv& env,
                                           const NcclVersion& version, NcclNotes& notes) {
  if (!uses_ib(env, version, notes)) return {};
  const std::string_view text = nccl_getenv_or_empty(env, variable::kIbHca);
  const NcclNameList list = parse_nccl_name_list(text, version, nccl_max_hcas(version));
  note_list(list, text, table, version, notes);
  Ports ports = filter(table, list, version, notes);
  if (ports.empty()) {
    const bool forced = !nccl_getenv_or_empty(env, variable::kNet).empty();
    notes.add(NcclFault::NoPort,
              forced ? "No port is left: as NCCL_NET asks for IB, " + no_network_error("IB", version)
                     : "No port is left (NET/IB : No device found.): NCCL silently falls back to sockets.");
  }
  order(ports, env, version, notes);
  note_mixture(ports, notes);
  note_merging(ports, env, version, notes);
  note_planes(ports, list, notes);
  return ports;
}

int nccl_max_hcas(const NcclVersion& version) {
  return version >= nccl_since::k32Hcas ? 32 : 16;
}

}  // namespace nccl_env
