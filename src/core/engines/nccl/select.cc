// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/select.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/engines/nccl/gid.h"
#include "nccl_env/core/engines/nccl/interfaces.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

constexpr std::string_view kGidsNotKnown =
    "The GIDs are not known, so it is open which index NCCL's search finds.";

// One note for all ports that share it.
class PortNotes {
 public:
  void add(const Port& port, const NcclGid& gid) {
    if (gid.note.empty()) return;
    const auto same = [&](const Entry& entry) { return entry.note == gid.note; };
    auto found = std::find_if(entries_.begin(), entries_.end(), same);
    if (found == entries_.end()) found = entries_.insert(entries_.end(), {gid.note, gid.fault, {}});
    found->ports.push_back(port_name(port));
  }

  // `all`: of so many ports.
  void append_to(NcclNotes& notes, std::size_t all) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& left, const Entry& right) {
      return left.ports.size() > right.ports.size();
    });
    for (const auto& [note, fault, ports] : entries_) {
      const bool of_all = fault && ports.size() == all && all > 2;
      std::string text = (of_all ? "All " + std::to_string(all) + " ports" : enumerate(ports)) + ": " + note;
      fault ? notes.add(*fault, std::move(text)) : notes.push_back(std::move(text));
    }
  }

 private:
  struct Entry {
    std::string note;
    std::optional<NcclFault> fault;
    std::vector<std::string> ports;
  };
  std::vector<Entry> entries_;
};

void note_unread_variables(const NcclEnv& env, const NcclVersion& version, NcclNotes& notes) {
  if (version >= nccl_since::kDynamicGid) return;
  std::vector<std::string> names;
  for (const std::string_view name :
       {variable::kIbAddrFamily, variable::kIbAddrRange, variable::kIbRoceVersionNum})
    if (env.find(name) != env.end()) names.emplace_back(name);
  if (!names.empty()) notes.push_back("NCCL before 2.21 does not read " + enumerate(names) + ".");
}

}  // namespace

NcclSelection nccl_select(const NodeFabric& table, const NcclEnv& env, const NcclVersion& version,
                          const NcclUnknowns& noted) {
  NcclSelection selection;
  NcclNotes notes;
  if (is_newer_than_known(version)) {
    notes.push_back("NCCL " + format_nccl_version(version) +
                    " is newer than the rules that are known here: those of " +
                    format_nccl_version(kNewestNccl) + " are taken.");
  }
  PortNotes port_notes;
  for (const Port* port : nccl_choose_ports(table, env, version, notes)) {
    NcclGid gid = nccl_gid_index(*port, env, version);
    selection.ports.push_back({port->hca, port->number, gid.index});
    if (gid.needs_rows && noted.gids) gid.note += (gid.note.empty() ? "" : " ") + std::string(kGidsNotKnown);
    port_notes.add(*port, gid);
    selection.needs_rows |= gid.needs_rows;
  }
  if (!selection.ports.empty()) note_unread_variables(env, version, notes);
  port_notes.append_to(notes, selection.ports.size());
  selection.interfaces = nccl_choose_interfaces(table, env, version, notes);
  if (!table.interfaces && noted.interfaces)
    notes.push_back("The interfaces are not known, and with them which ones NCCL takes for sockets.");
  selection.notes = std::move(notes.texts);
  selection.faults = std::move(notes.faults);
  return selection;
}

nlohmann::ordered_json to_json(const NcclSelection& selection) {
  auto hcas = nlohmann::ordered_json::array();
  auto indexes = nlohmann::json::object();
  for (const NcclSelection::ChosenPort& port : selection.ports) {
    const std::string name = port.hca + ":" + std::to_string(port.port);
    hcas.push_back(name);
    if (port.gid_index) indexes[name] = *port.gid_index;
  }
  return {{"hcas", std::move(hcas)},
          {"gidIndex", std::move(indexes)},
          {"interfaces", selection.interfaces},
          {"notes", selection.notes}};
}

}  // namespace nccl_env
