// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/selection_print.h"

#include <algorithm>
#include <map>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {

std::string note_elsewhere(std::string_view variable) {
  return "The container takes " + std::string(variable) +
         " from elsewhere; its value is not known here and counts as unset.";
}
namespace {

std::string chosen_text(const NcclSelection::ChosenPort& port) {
  return port.hca + ":" + std::to_string(port.port);
}

// "3 on all"; or the ports of each index.
std::string indexes_text(const NcclSelection& selection) {
  std::map<std::optional<int>, std::vector<std::string>> ports_of;
  for (const auto& port : selection.ports) ports_of[port.gid_index].push_back(chosen_text(port));
  const auto text = [&](const auto& of_index) {
    const auto& [index, ports] = of_index;
    const std::string all = index ? " on all" : "";
    return (index ? std::to_string(*index) : "not known") +
           (ports_of.size() == 1 ? all : " on " + join(ports));
  };
  return ports_of.empty() ? "-" : join(ports_of, "; ", text);
}

// More names than these would hide the sentence.
constexpr std::size_t kMostPorts = 8;

// The ports of `selection` that `other` lacks: "mlx5_0", and "mlx5_0:2" of a second port.
std::vector<std::string> names_beyond(const NcclSelection& selection, const NcclSelection& other) {
  std::vector<std::string> names;
  for (const auto& port : selection.ports) {
    const auto is_same = [&](const auto& each) { return each.hca == port.hca && each.port == port.port; };
    if (std::ranges::none_of(other.ports, is_same))
      names.push_back(port.port == 1 ? port.hca : chosen_text(port));
  }
  return names;
}

std::string ports_compared(const NcclSelection& alone, const std::optional<NcclSelection>& with_us) {
  const std::vector<std::string> more = names_beyond(alone, with_us.value_or(NcclSelection()));
  if (!with_us) return more.empty() ? "finds no HCA" : "takes " + join_some(more, kMostPorts);
  const std::vector<std::string> fewer = names_beyond(*with_us, alone);
  if (more.empty() && fewer.empty())
    return alone.ports.empty() ? "finds no HCA, either" : "takes the same HCAs as with these values";
  std::string text = more.empty() ? "" : "also takes " + join_some(more, kMostPorts);
  if (!fewer.empty()) text += (text.empty() ? "" : " and ") + ("leaves out " + join_some(fewer, kMostPorts));
  return text;
}

}  // namespace

std::string choice_text(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                        const std::optional<NcclSelection>& with_us) {
  if (!alone) return {};
  const std::string nccl =
      "NCCL " + format_nccl_version(version) + (version == kNewestNccl ? " (assumed)" : "");
  if (std::ranges::find(alone->notes, note_elsewhere(variable::kIbHca)) != alone->notes.end())
    return "\n" + paragraph(nccl + " takes what NCCL_IB_HCA says, which is not known here.", 2);
  if (std::ranges::find(alone->notes, kNoteOwnList) != alone->notes.end())
    return "\n" + paragraph(nccl + " takes what the container's own file says, which is not known here.", 2);
  std::string text = nccl + " alone " + ports_compared(*alone, with_us);
  const std::string index = indexes_text(*alone);
  if (index != "-" && (!with_us || index != indexes_text(*with_us)))
    text += index == "not known" ? ", and its GID index is not known" : ", GID index " + index;
  if (!alone->interfaces.empty() && (!with_us || alone->interfaces != with_us->interfaces))
    text += ", and talks over " + join_some(alone->interfaces, kMostPorts);
  return "\n" + paragraph(text + ". Whole, with notes: -o wide", 2);
}

std::string render_text(const NcclSelection& selection, std::size_t indent) {
  TextColumns columns(indent);
  columns.add({"HCAs", selection.ports.empty() ? "none" : join(selection.ports, ", ", chosen_text)});
  columns.add({"GID index", indexes_text(selection)});
  columns.add({"interfaces", selection.interfaces.empty() ? "not known" : join(selection.interfaces)});
  for (const std::string& note : selection.notes) columns.add({"note", note});
  return columns.render();
}

std::string selections_text(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                            const std::optional<NcclSelection>& with) {
  if (!alone) return {};
  const std::string title = "\n  NCCL " + format_nccl_version(version);
  NcclSelection own = *alone;
  std::optional<NcclSelection> with_us = with;
  // Findings above say what is wrong with them.
  if (with) {
    for (const auto& fault : with->faults) std::erase(with_us->notes, fault.second);
  }
  TextColumns both(4);  // notes that hold for both selections, printed once
  for (const std::string& note : alone->notes) {
    if (!with_us || std::erase(with_us->notes, note) == 0) continue;
    std::erase(own.notes, note);
    both.add({"note", note});
  }
  std::string text = title + " alone\n" + render_text(own, 4);
  if (with_us) text += title + " with these variables\n" + render_text(*with_us, 4);
  if (const std::string notes = both.render(); !notes.empty()) text += title + " either way\n" + notes;
  return text;
}

}  // namespace nccl_env
