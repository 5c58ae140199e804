// SPDX-License-Identifier: Apache-2.0
#include "explain/judgement.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/interfaces.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/fabric/interface_index.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {

void FindingSink::add(Code code, Severity severity, std::string_view variable, std::string sentence,
                      std::string_view remedy) const {
  into.push_back({code, severity, of, std::move(sentence), std::string(remedy)});
  into.back().subject.path = variable;
}
namespace {

constexpr std::string_view kNoAddressRemedy =
    "Give the rail's interface a routed address: IPv4, or IPv6 but fe80::/10.";

struct FaultRow {
  NcclFault fault;
  Code code;
  Severity severity;
  std::string_view variable;
  std::string_view remedy = {};  // "": the code's
};

constexpr FaultRow kFaults[] = {
    {NcclFault::PortDown, Code::RailDown, Severity::Error, variable::kIbHca},
    {NcclFault::NoSuchPort, Code::NoSuchDevice, Severity::Error, variable::kIbHca},
    {NcclFault::Neighbour, Code::ListNotExact, Severity::Warning, variable::kIbHca},
    {NcclFault::NoPort, Code::FellBack, Severity::Error, variable::kIbHca},
    {NcclFault::TurnedOff, Code::NetworkNotFound, Severity::Error, variable::kIbDisable,
     "Remove NCCL_IB_DISABLE, or NCCL_NET."},
    {NcclFault::MixedLinks, Code::MixedLinks, Severity::Error, variable::kIbHca},
    {NcclFault::EmptyIndex, Code::EmptyGid, Severity::Error, variable::kIbGidIndex, kNoAddressRemedy},
    {NcclFault::LinkLocal, Code::LinkLocalGid, Severity::Warning, variable::kIbGidIndex, kNoAddressRemedy},
    {NcclFault::OtherFamily, Code::LinkLocalGid, Severity::Warning, variable::kIbGidIndex,
     "Set NCCL_IB_ADDR_FAMILY=AF_INET6, or remove the list."},
    {NcclFault::OldDefault, Code::LinkLocalGid, Severity::Warning, variable::kIbGidIndex,
     "Set NCCL_IB_GID_INDEX to the row of its routed address (show_gids), or remove the variable that keeps "
     "the node's index away."},
    {NcclFault::RoceV1, Code::RoceV1Gid, Severity::Warning, variable::kIbGidIndex},
    {NcclFault::NoInterface, Code::NoInterface, Severity::Error, variable::kSocketIfname},
    {NcclFault::NoFamily, Code::NoInterface, Severity::Error, "NCCL_SOCKET_FAMILY",
     "Remove NCCL_SOCKET_FAMILY, or give the interface an address of that family."},
    {NcclFault::LoopbackFirst, Code::LoopbackFirst, Severity::Warning, variable::kSocketIfname},
};

const FaultRow& row_of(NcclFault fault) {
  return *std::ranges::find(kFaults, fault, &FaultRow::fault);
}

// The variable that decides which row NCCL's search finds; "" where none does, or an index is given.
std::string_view search_variable(const NcclEnv& env) {
  if (nccl_parameter(env, variable::kIbGidIndex, -1) >= 0) return {};
  for (const std::string_view name :
       {variable::kIbAddrRange, variable::kIbAddrFamily, variable::kIbRoceVersionNum})
    if (env.contains(name)) return name;
  return {};
}

// The names of a list that the node does not have. None of these readers takes prefixes.
std::vector<std::string> absent_names(const NodeFabric& seen, bool ports, bool interfaces,
                                      std::string_view list) {
  std::vector<std::string> absent;
  if (list.starts_with('^') || list == "all") return absent;
  for (const std::string_view entry : entries_of(list)) {
    const bool is_port = ports && std::ranges::any_of(seen.ports, [&](const Port& port) {
                           return entry == port.hca || entry == port_name(port);
                         });
    if (interfaces && entry == "lo") continue;  // each process has it, also where the table does not list it
    const bool may_be_interface =
        interfaces && entry.find(':') == std::string_view::npos &&
        (seen.interfaces
             ? std::ranges::find(*seen.interfaces, entry, &Interface::name) != seen.interfaces->end()
             : std::ranges::none_of(seen.ports, [&](const Port& port) {
                 const auto netdevs = netdevs_of(port);
                 return port.hca == entry && std::ranges::find(netdevs, entry) == netdevs.end();
               }));
    if (!is_port && !may_be_interface) absent.emplace_back(entry);
  }
  return absent;
}

}  // namespace

void judge_selection(const NcclSelection& with_us, const NcclEnv& env, const FindingSink& told) {
  const std::string_view search = search_variable(env);
  const auto list = env.find(variable::kIbHca);
  for (const auto& [fault, sentence] : with_us.faults) {
    const FaultRow& row = row_of(fault);
    std::string_view by = row.variable;
    std::string remedy(row.remedy);
    if (fault == NcclFault::Neighbour && list != env.end() && list->second.starts_with('^')) {
      remedy = "Begin the list with '^='.";
    } else if (fault == NcclFault::EmptyIndex && env.contains(variable::kIbGidIndex)) {
      remedy = "Remove NCCL_IB_GID_INDEX, or name a row that the port has (show_gids).";
    } else if (fault == NcclFault::RoceV1 && !search.empty() && env.contains(variable::kIbRoceVersionNum)) {
      by = variable::kIbRoceVersionNum;
      remedy = "Say 2 in " + std::string(by) + ", or remove it.";
    } else if ((fault == NcclFault::LinkLocal || fault == NcclFault::OtherFamily) && !search.empty()) {
      by = search;
      remedy = "Correct " + std::string(by) +
               ", or remove it; if the rail has no routed address, give its interface one.";
    } else if (fault == NcclFault::LinkLocal && env.contains(variable::kIbGidIndex)) {
      remedy.clear();
    }
    const bool searched = by != row.variable;
    told.add(row.code, row.severity, by,
             searched ? std::string(by) + "=" + env.find(by)->second + ": " + continued(sentence) : sentence,
             remedy);
  }
}

bool is_about(const NcclSelection& selection, std::string_view variable) {
  return std::ranges::any_of(selection.faults,
                             [&](const auto& each) { return row_of(each.first).variable == variable; });
}

std::map<std::string, UsedRow> used_rows(const NodeFabric& table, const NcclSelection& chosen) {
  std::map<std::string, UsedRow> rows;
  const InterfaceIndex interfaces(table);
  for (const NcclSelection::ChosenPort& at : chosen.ports) {
    const auto port = std::ranges::find_if(
        table.ports, [&](const Port& each) { return each.hca == at.hca && each.number == at.port; });
    if (!at.gid_index || port == table.ports.end() || !port->gids) continue;
    UsedRow used{*at.gid_index};
    for (const GidRow& row : *port->gids) {
      const auto network = interfaces.network_of(row);
      if (!network || !judge_row(interfaces, row, {}).usable) continue;
      row.index == used.index ? void(used.network = network) : void(used.beside.insert(*network));
    }
    rows.emplace(at.hca, std::move(used));
  }
  return rows;
}

void add_no_list(std::string_view reason, std::string_view detail, std::string_view remedy,
                 std::string_view then, const FindingSink& told) {
  told.add(Code::NoList, Severity::Warning, variable::kIbHca,
           "No HCA list (" + std::string(reason) + "): " + std::string(detail) +
               (detail.empty() || detail.ends_with('.') ? "" : ".") + std::string(then) + ".",
           remedy);
}

void add_users_off(const NcclEnv& own, const FindingSink& told) {
  const auto disable = own.find(variable::kIbDisable), net = own.find(variable::kNet);
  const auto turns_off = [&](NcclEnv::const_iterator entry) {
    return entry != own.end() && turns_verbs_off(entry->first, entry->second);
  };
  // With a network of verbs beside it NCCL stops, which its own finding tells.
  if (turns_off(disable) && net != own.end() && !turns_off(net)) return;
  if (const auto off = turns_off(disable) ? disable : net; turns_off(off)) {
    told.add(Code::UserListShort, Severity::Info, off->first,
             off->first + "=" + off->second +
                 " turns InfiniBand and RoCE off: NCCL uses sockets, and none of the node's HCAs.");
  } else if (net != own.end() && !is_network_of_nccl(net->second)) {
    told.add(
        Code::UserListShort, Severity::Info, variable::kNet,
        "NCCL_NET=" + net->second + ": NCCL uses the plugin of that name alone, and stops if there is none.");
  }
}

void judge_lists(const NodeFabric& seen, const NcclEnv& own, const FindingSink& told) {
  for (const auto& [name, value] : own) {
    const EngineVariable* engines = find_engine_variable(name);
    const Variable* row = find_variable(name);
    if (!row || row->kind == ValueKind::Text || setting_problem(name, value)) continue;
    const bool groups = row->kind == ValueKind::HcaGroups;  // NCCL's, who stops where one is not there
    const bool ports = groups || (engines && engines->follows == Follows::Ports);
    // Where the interfaces are known, NCCL's choice of them is judged.
    const bool nccls = name == variable::kSocketIfname && !seen.interfaces;
    // UCX alone takes interfaces beside ports.
    const bool interfaces =
        nccls || (engines && (engines->follows == Follows::Interface || name == "UCX_NET_DEVICES"));
    if (!ports && !interfaces) continue;
    std::string list = value;
    if (nccls && list.starts_with('=')) list.erase(0, 1);
    if (groups) std::ranges::replace(list, ';', ',');
    const std::vector<std::string> absent = absent_names(seen, ports, interfaces, list);
    if (absent.empty()) continue;
    const bool hca = !ports && std::ranges::find(seen.ports, absent.front(), &Port::hca) != seen.ports.end();
    const std::string_view fault = hca      ? " names an HCA, where an interface has to stand: "
                                   : groups ? " names what the node does not have, and NCCL stops: "
                                            : " names what the node does not have: ";
    told.add(ports ? Code::DeviceNotAvailable : Code::NoInterface,
             groups ? Severity::Error : Severity::Warning, name,
             name + std::string(fault) + join_some(absent, kMostNames),
             ports ? "Name devices that the node has, or remove " + name + "." : "");
  }
}

std::string policys_remedy(std::string_view variable) {
  if (variable == variable::kIbHca) return "Correct spec.hca of the policy, or say FromNode there.";
  if (variable == variable::kIbGidIndex) return "Correct spec.gidIndex of the policy, or say Auto there.";
  if (variable == variable::kSocketIfname)
    return "Correct spec.socketInterface of the policy, or say FromNode there.";
  return "Correct the variable in the policy's env, or leave it out there.";
}

void judge_setting(std::string_view name, std::string_view value, bool policys, const FindingSink& told) {
  // A value that is known and holds one: it stays text. A container may define what a policy refers to.
  if (!first_reference(value).empty()) {
    if (!policys)
      told.add(Code::ValueMisread, Severity::Error, name, reference_problem(name, value),
               "Define it higher up in the container's env, or write the value itself.");
    return;
  }
  std::string lo = name == variable::kSocketIfname ? loopback_problem(value, kNewestNccl) : "";
  if (name == "GLOO_SOCKET_IFNAME" && value == "lo")
    lo = "GLOO_SOCKET_IFNAME=lo takes lo, over which no other host is reached.";
  const auto problem = lo.empty() ? setting_problem(name, value) : SettingProblem{lo};
  if (!problem) return;
  const Code code = !lo.empty()         ? Code::LoopbackFirst
                    : misspelling(name) ? Code::UnknownVariable
                                        : Code::ValueMisread;
  told.add(code, problem->as_meant ? Severity::Info : Severity::Warning, name, problem->sentence,
           policys ? policys_remedy(name) : problem->remedy);
  told.into.back().slight = name.starts_with("NCCL_DEBUG");  // of the log, and of no traffic
}

std::vector<std::string> names_of_list(std::string_view list) {
  return parse_nccl_name_list(list, kNewestNccl, nccl_max_hcas(kNewestNccl)).names();
}

std::vector<std::string> hcas_of(const NcclSelection& selection) {
  std::vector<std::string> names;
  for (const NcclSelection::ChosenPort& port : selection.ports) names.push_back(port.hca);
  return names;
}

std::vector<std::string> hcas_beyond(const std::vector<std::string>& names, const NcclSelection& selection) {
  std::vector<std::string> others = hcas_of(selection);
  std::set<std::string> known(names.begin(), names.end());
  std::erase_if(others, [&](const std::string& hca) { return !known.insert(hca).second; });
  return others;
}

void add_short(std::string_view variable, const std::string& whose, const std::vector<std::string>& offered,
               const std::vector<std::string>& taken, const FindingSink& told) {
  const auto known = static_cast<std::size_t>(std::ranges::count_if(
      offered, [&](const std::string& device) { return std::ranges::find(taken, device) != taken.end(); }));
  const bool whole = known == offered.size();
  // NCCL spreads its traffic over all that it takes; other engines choose among them.
  const bool wide = variable == variable::kIbHca && taken.size() > known;
  if (taken.empty() || offered.empty() || (whole && !wide)) return;
  const std::string takes = known == 0 ? "none of" : whole ? "more than" : std::to_string(known) + " of";
  told.add(Code::UserListShort, known == 0 || wide ? Severity::Warning : Severity::Info, variable,
           whose + " takes " + takes + " the node's " + std::to_string(offered.size()) +
               " HCAs: " + list_difference(offered, taken) + ".",
           wide ? kOwnListRemedy : "");
}

bool is_meant_choice(const Finding& finding) {
  const std::string& of = finding.subject.path;
  return finding.code == Code::UserListShort &&
         (of == variable::kIbDisable || of == variable::kNet || of == variable::kIbHca);
}

const Finding* meant_choice(const std::vector<Finding>& findings) {
  const auto found = std::ranges::find_if(findings, is_meant_choice);
  return found == findings.end() ? nullptr : &*found;
}

void sort_findings(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, more_urgent);
  const auto same = [](const Finding& left, const Finding& right) { return left.sentence == right.sentence; };
  findings.erase(std::unique(findings.begin(), findings.end(), same), findings.end());
}

void add_further(const std::vector<Finding>& findings, std::string_view answer, TextColumns& columns) {
  for (const Finding& finding : findings) {
    if (finding.sentence == answer) continue;
    if (finding.severity == Severity::Info) {
      columns.add({"info", std::string(to_string(finding.code)) + ": " + finding.sentence});
      continue;
    }
    columns.add({std::string(to_string(finding.severity)), finding.sentence});
    columns.add({"", std::string(remedy_of(finding))});
  }
}

std::string with_names(std::string_view remedy, std::string_view pod, std::string_view job) {
  std::string text(remedy);
  const auto name = [&](std::string_view command, std::string_view by) {
    const std::string placeholder = std::string(command) + "NAME";
    for (std::size_t at = text.find(placeholder); !by.empty() && at != text.npos;
         at = text.find(placeholder, at + command.size() + by.size()))
      text.replace(at + command.size(), 4, by);
  };
  for (const std::string_view command : {"pod/", "kubectl logs ", "describe pod "}) name(command, pod);
  name("job/", job);
  return text;
}

std::string in_brackets(const std::optional<Reason>& reason) {
  return reason ? " (" + std::string(to_string(*reason)) + ")" : "";
}

bool lacks_kin(const std::vector<std::string>& fewer, const std::vector<std::string>& more) {
  if (fewer.size() >= more.size()) return false;
  std::set<std::string> kinds;
  for (const std::string& name : fewer) kinds.insert(hca_family(name));
  const std::set<std::string_view> has(fewer.begin(), fewer.end());
  return std::ranges::any_of(
      more, [&](const std::string& name) { return !has.contains(name) && kinds.contains(hca_family(name)); });
}

std::string continued(std::string sentence) {
  const std::string_view word(sentence.data(), std::min(sentence.find(' '), sentence.size()));
  const bool is_word = word.size() > 1 && std::ranges::all_of(word.substr(1), [](unsigned char c) {
                         return std::islower(c) != 0;
                       });
  if (is_word || sentence.starts_with("A ")) {
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  }
  return sentence;
}

}  // namespace nccl_env
