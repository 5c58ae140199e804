// SPDX-License-Identifier: Apache-2.0
#include "explain/judgement.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "choose/node_traffic.h"
#include "decide/process_limits.h"
#include "decide/warnings.h"
#include "engines/nccl/interfaces.h"
#include "engines/nccl/ports.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

struct Judged {
  Code code;
  Severity severity;
  std::string_view variable;
};

Judged judged(NcclFault fault) {
  switch (fault) {
    case NcclFault::PortDown:
      return {Code::RailDown, Severity::Error, variable::kIbHca};
    case NcclFault::NoSuchPort:
      return {Code::NoSuchDevice, Severity::Error, variable::kIbHca};
    case NcclFault::Neighbour:
      return {Code::ListNotExact, Severity::Warning, variable::kIbHca};
    case NcclFault::NoPort:
      return {Code::FellBack, Severity::Error, variable::kIbHca};
    case NcclFault::TurnedOff:
      return {Code::NetworkNotFound, Severity::Error, variable::kIbDisable};
    case NcclFault::MixedLinks:
      return {Code::MixedLinks, Severity::Error, variable::kIbHca};
    case NcclFault::EmptyIndex:
      return {Code::EmptyGid, Severity::Error, variable::kIbGidIndex};
    case NcclFault::LinkLocal:
      return {Code::LinkLocalGid, Severity::Warning, variable::kIbGidIndex};
    case NcclFault::OldDefault:
      return {Code::LinkLocalGid, Severity::Warning, variable::kIbGidIndex};
    case NcclFault::RoceV1:
      return {Code::RoceV1Gid, Severity::Warning, variable::kIbGidIndex};
    case NcclFault::NoInterface:
      return {Code::NoInterface, Severity::Error, variable::kSocketIfname};
    case NcclFault::NoFamily:
      return {Code::NoInterface, Severity::Error, "NCCL_SOCKET_FAMILY"};
    case NcclFault::LoopbackFirst:
      break;
  }
  return {Code::LoopbackFirst, Severity::Warning, variable::kSocketIfname};
}

// More names would hide the sentence.
constexpr std::size_t kMostNames = 4;

// `empty`: the variable has no value.
void add_short(std::string_view variable, bool empty, const std::vector<std::string>& offered,
               const std::vector<std::string>& taken, const Subject& of, std::vector<Finding>& into) {
  const auto known = std::ranges::count_if(
      offered, [&](const std::string& device) { return std::ranges::find(taken, device) != taken.end(); });
  const bool whole = static_cast<std::size_t>(known) == offered.size();
  // NCCL spreads its traffic over all that it takes; other engines choose among them.
  const bool wide = variable == variable::kIbHca && taken.size() > static_cast<std::size_t>(known);
  if (taken.empty() || offered.empty() || (whole && !wide)) return;
  const std::string takes = known == 0 ? "none of" : whole ? "more than" : std::to_string(known) + " of";
  into.push_back({Code::UserListShort, known == 0 || wide ? Severity::Warning : Severity::Info, of,
                  std::string(variable) + " is the user's own" +
                      (empty ? ", empty, which counts as unset," : "") + " and takes " + takes +
                      " the node's " + std::to_string(offered.size()) +
                      " HCAs: " + list_difference(offered, taken) + "."});
  if (wide)
    into.back().remedy =
        "Remove the variable from the container to have the node's list, or name the fabric's HCAs alone.";
  into.back().subject.path = variable;
}

// "NCCL_IB_ADDR_FAMILY=AF_INET6: "
std::string setting(const NcclEnv& env, std::string_view name) {
  return std::string(name) + "=" + env.find(name)->second + ": ";
}

constexpr std::string_view kNoAddressRemedy =
    "Give the rail's interface a routed address: IPv4, or IPv6 but fe80::/10.";

// The variable that decides which row NCCL's search finds; "" where none does, or an index is given.
std::string_view search_variable(const NcclEnv& env) {
  if (nccl_parameter(env, variable::kIbGidIndex, -1) >= 0) return {};
  for (const std::string_view name :
       {variable::kIbAddrRange, variable::kIbAddrFamily, variable::kIbRoceVersionNum})
    if (env.contains(name)) return name;
  return {};
}

}  // namespace

std::vector<Finding> judge_selection(const NcclSelection& with_us, const NcclEnv& env, const Subject& of) {
  std::vector<Finding> findings;
  for (const auto& [fault, sentence] : with_us.faults) {
    const Judged row = judged(fault);
    Finding& finding = findings.emplace_back(Finding{row.code, row.severity, of, sentence});
    finding.subject.path = row.variable;
    if (fault == NcclFault::EmptyIndex && !env.contains(variable::kIbGidIndex))
      finding.remedy = kNoAddressRemedy;
    if (fault == NcclFault::EmptyIndex && env.contains(variable::kIbGidIndex))
      finding.remedy = "Remove NCCL_IB_GID_INDEX, or name a row that the port has (show_gids).";
    const auto list = env.find(variable::kIbHca);
    if (fault == NcclFault::Neighbour && list != env.end() && list->second.starts_with('^'))
      finding.remedy = "Begin the list with '^='.";
    if (fault == NcclFault::OldDefault)
      finding.remedy =
          "Set NCCL_IB_GID_INDEX to the row of its routed address (show_gids), or remove the variable that "
          "keeps the node's index away.";
    if (fault == NcclFault::NoFamily)
      finding.remedy = "Remove NCCL_SOCKET_FAMILY, or give the interface an address of that family.";
    if (fault == NcclFault::TurnedOff) finding.remedy = "Remove NCCL_IB_DISABLE, or NCCL_NET.";
    if (fault == NcclFault::RoceV1 && env.contains(variable::kIbRoceVersionNum) &&
        !search_variable(env).empty()) {
      finding.sentence = setting(env, variable::kIbRoceVersionNum) + continued(std::move(finding.sentence));
      finding.subject.path = variable::kIbRoceVersionNum;
      finding.remedy = "Say 2 in " + std::string(variable::kIbRoceVersionNum) + ", or remove it.";
    }
    const std::string_view name = fault == NcclFault::LinkLocal ? search_variable(env) : std::string_view();
    if (fault == NcclFault::LinkLocal && !env.contains(variable::kIbGidIndex))
      finding.remedy = kNoAddressRemedy;
    if (name.empty()) continue;
    finding.sentence = setting(env, name) + continued(std::move(finding.sentence));
    finding.subject.path = name;
    finding.remedy = "Correct " + std::string(name) +
                     ", or remove it; if the rail has no routed address, give its interface one.";
  }
  return findings;
}

void tell_fallback(bool own_list, const Value* omission, std::vector<Finding>& findings) {
  // A table that does not count does not tell what NCCL finds.
  if (omission && (omission->reason == Reason::StaleTable || omission->reason == Reason::NoTable))
    std::erase_if(findings, [](const Finding& finding) { return finding.code == Code::FellBack; });
  for (Finding& finding : findings) {
    if (finding.code != Code::FellBack) continue;
    if (own_list) {
      finding.remedy = words_of(Code::NoSuchDevice).remedy;
    } else if (omission && omission->reason && !omission->detail.empty()) {
      finding.sentence = omission->detail + " So NCCL silently falls back to sockets.";
      finding.remedy = remedy(*omission->reason);
    }
  }
}

namespace {

// True if that many rails may be all that are meant: the policy's number, else one in which rails come. Then
// a port that nobody saw up may never have had a cable.
bool is_whole(const NodeFabric& table, const NcclPolicy& policy, std::size_t count) {
  const NodeFabricRule found = fabric_rule(policy, table);
  if (found.rule && found.rule->expect_ports)
    return count >= static_cast<std::size_t>(*found.rule->expect_ports);
  return is_usual_count(count);
}

void add_left_out(const NodeFabric& table, const NcclPolicy& policy, const PortChoice& choice,
                  const Subject& of, std::vector<Finding>& into) {
  std::vector<const PortVerdict*> left_out;
  const bool whole = is_whole(table, policy, choice.ports.size());
  bool lost = !whole;  // the agent knows since when a port has a state if it saw another one before
  for (const PortVerdict& verdict : choice.verdicts) {
    if (!verdict.of_fabric || verdict.fabric) continue;
    left_out.push_back(&verdict);
    const bool down = verdict.port->state.value_or(PortState::Active) != PortState::Active;
    lost = lost || (down && verdict.port->state_since);
  }
  if (left_out.empty()) return;
  const auto text = [&](const PortVerdict* verdict) {
    return verdict->port->hca + ":" + std::to_string(verdict->port->number) + " (" + verdict->why + ")";
  };
  into.push_back({Code::RailDown, lost ? Severity::Warning : Severity::Info, of,
                  "The list has " + std::to_string(choice.ports.size()) + " of the " +
                      std::to_string(choice.fabric.size()) + " ports of the node's fabric, without " +
                      join_some(left_out, kMostNames, text) + "."});
  into.back().subject.path = variable::kIbHca;
}

// Each rank waits for its slowest rail.
void add_slow(const PortChoice& choice, const Subject& of, std::vector<Finding>& into) {
  std::vector<const Port*> slow;
  std::ranges::copy_if(choice.ports, std::back_inserter(slow), [](const Port* port) {
    return port->state == PortState::Active && has_slowed(*port);  // not by a table that is too old
  });
  if (slow.empty()) return;
  const auto text = [](const Port* port) {
    std::ostringstream words;
    words << port_name(*port) << " at " << *port->rate_gbps << " of " << *port->max_rate_gbps << " Gb/s";
    return words.str();
  };
  into.push_back({Code::RateLow, Severity::Warning, of,
                  "A port of the list runs slower than it did since the node booted: " +
                      join_some(slow, kMostNames, text) + "."});
  into.back().subject.path = variable::kIbHca;
}

}  // namespace

void judge_list_ports(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure, Timestamp now,
                      const Subject& of, std::vector<Finding>& into) {
  const PortChoice choice = choose_policy_ports(table, policy, exposure, now);
  if (choice.reason || choice.ports.empty()) return;  // its reason tells all
  if (std::ranges::find(into, Code::RailDown, &Finding::code) == into.end())
    add_left_out(table, policy, choice, of, into);
  add_slow(choice, of, into);
}

namespace {

constexpr std::string_view kFabricRemedy =
    "Correct spec.fabric of the policy, which no port of this node meets (`nccl-env nodes NAME`); if other "
    "nodes meet "
    "it, look at this one.";
constexpr std::string_view kLookForCard =
    "Look for the card in lspci and for its driver in dmesg on the node, and at the agent's log there; until "
    "it is back, cordon the node and run the pod on another.";

constexpr std::string_view kRowRemedy =
    "Give the interfaces of these ports their addresses, IPv4 or a routed IPv6, in RoCE v2 mode: `nccl-env "
    "table "
    "show` has their rows.";

// True if the fabric is known, and each of its ports lacks a usable row.
bool has_no_row(const PortChoice& choice) {
  return !choice.fabric.empty() && std::ranges::all_of(choice.verdicts, [](const PortVerdict& verdict) {
    return !verdict.of_fabric || (!verdict.fabric && verdict.rowless);
  });
}

bool is_known_down(const Port* port) {
  return port->state.value_or(PortState::Active) != PortState::Active;
}

}  // namespace

void tell_no_port(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure, Timestamp now,
                  const NcclSelection* taken, std::vector<Finding>& findings) {
  const PortChoice choice = choose_policy_ports(table, policy, exposure, now);
  const std::vector<const Port*>& fabric = choice.fabric;
  const bool down = !fabric.empty() && std::ranges::all_of(fabric, is_known_down);
  std::vector<std::string> names;
  for (const auto& port : taken ? taken->ports : std::vector<NcclSelection::ChosenPort>()) {
    if (std::ranges::find(names, port.hca) == names.end()) names.push_back(port.hca);
  }
  const bool other = std::ranges::none_of(names, [&](const std::string& name) {
    return std::ranges::find(fabric, name, &Port::hca) != fabric.end();
  });
  for (Finding& finding : findings) {
    if (finding.remedy != remedy(Reason::NoFabricPort)) continue;
    if (table.ports.empty())
      finding.remedy = kLookForCard;
    else if (std::ranges::all_of(choice.verdicts, &PortVerdict::by_policy))
      finding.remedy = kFabricRemedy;
    if (down) finding.remedy = words_of(Code::RailDown).remedy;
    if (!down && has_no_row(choice)) finding.remedy = kRowRemedy;
    if (finding.code != Code::NoList || names.empty() || !finding.sentence.ends_with('.')) continue;
    finding.sentence.pop_back();
    finding.sentence +=
        ": " + join_some(names, kMostNames) + (down && other ? ", which is not the fabric." : ".");
  }
}

void add_no_list(std::string_view reason, std::string_view detail, std::string_view remedy, bool has_devices,
                 const Subject& of, std::vector<Finding>& into) {
  std::string sentence =
      "No HCA list (" + std::string(reason) + "): " + std::string(detail) +
      (detail.empty() || detail.ends_with('.') ? "" : ".") +
      (has_devices ? " So NCCL takes all HCAs that it finds." : " So NCCL finds no HCA, and uses sockets.");
  into.push_back({Code::NoList, Severity::Warning, of, std::move(sentence), std::string(remedy)});
  into.back().subject.path = variable::kIbHca;
}

void add_no_interface(std::string_view reason, std::string_view detail, const Subject& of,
                      std::vector<Finding>& into) {
  const auto known = parse_reason(reason);
  if (known != Reason::InterfaceAbsent && known != Reason::NodeInterfaceUnknown) return;
  into.push_back({Code::NoInterface, Severity::Warning, of,
                  "No NCCL_SOCKET_IFNAME (" + std::string(reason) + "): " + std::string(detail) +
                      " So NCCL chooses its interfaces itself.",
                  std::string(remedy(*known))});
  into.back().subject.path = variable::kSocketIfname;
}

void add_turned_off(const FindGiven& given, const Subject& of, std::vector<Finding>& into) {
  const Value* list = given(variable::kIbHca);
  if (!list || list->state == State::Users || list->state == State::LeftOut) return;
  for (const std::string_view name : {variable::kIbDisable, variable::kNet}) {
    const Value* value = given(name);
    if (!value || !value->value || !value->is_from(Source::Policy) || !turns_verbs_off(name, *value->value))
      continue;
    into.push_back(
        {Code::FellBack, Severity::Error, of,
         "The policy itself turns InfiniBand and RoCE off: with its " + std::string(name) + "=" +
             *value->value + " NCCL uses sockets, and none of the HCAs that the pod gets.",
         "Take " + std::string(name) + " out of the policy's env; if sockets are meant, say hca: Omit."});
    into.back().subject.path = name;
    return;
  }
}

void add_users_off(const NcclEnv& own, const Subject& of, std::vector<Finding>& into) {
  for (const std::string_view name : {variable::kIbDisable, variable::kNet}) {
    const auto value = own.find(name);
    if (value == own.end() || !turns_verbs_off(name, value->second)) continue;
    // With a network of verbs beside it NCCL stops, which its own finding tells.
    if (name == variable::kIbDisable && own.contains(variable::kNet) &&
        !turns_verbs_off(variable::kNet, own.find(variable::kNet)->second))
      return;
    into.push_back({Code::UserListShort, Severity::Info, of,
                    std::string(name) + "=" + value->second +
                        " turns InfiniBand and RoCE off: NCCL uses sockets, and none of the node's HCAs."});
    into.back().subject.path = name;
    return;
  }
  const auto network = own.find(variable::kNet);
  if (network == own.end() || is_network_of_nccl(network->second)) return;
  into.push_back({Code::UserListShort, Severity::Info, of,
                  "NCCL_NET=" + network->second +
                      ": NCCL uses the plugin of that name alone, and stops if there is none."});
  into.back().subject.path = variable::kNet;
}

void add_host_id(const NcclEnv& own, const Subject& of, std::vector<Finding>& into) {
  const auto id = own.find("NCCL_HOSTID");
  if (id == own.end() || id->second.empty()) return;
  into.push_back(
      {Code::ValueMisread, Severity::Warning, of,
       "NCCL_HOSTID=" + id->second +
           " is the same in each pod of this template: NCCL takes pods of several nodes for one host.",
       "Remove NCCL_HOSTID, or give it another value on each node."});
  into.back().subject.path = "NCCL_HOSTID";
}

NodeFabric without_states(NodeFabric table) {
  for (Port& port : table.ports) {
    port.state.reset();
    port.state_since.reset();
  }
  if (!table.interfaces) return table;
  for (Interface& interface : *table.interfaces) interface.up.reset();
  return table;
}

namespace {

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

void judge_lists(const NodeFabric& seen, const NcclEnv& own, const Subject& of, std::vector<Finding>& into) {
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
    into.push_back({ports ? Code::DeviceNotAvailable : Code::NoInterface,
                    groups ? Severity::Error : Severity::Warning, of,
                    name + std::string(fault) + join_some(absent, kMostNames),
                    ports ? "Name devices that the node has, or remove " + name + "." : ""});
    into.back().subject.path = name;
  }
}

bool is_mistake(Reason reason, const Pod& pod) {
  const bool of_policy = reason == Reason::PolicyMissing || reason == Reason::PolicyInvalid;
  const bool hurts = of_policy || reason == Reason::BudgetExceeded;
  return reason == Reason::InvalidInjectValue || (hurts && looks_like_rdma(pod));
}

void add_device_problem(const Pod& pod, const std::vector<bool>& ours, const Subject& of,
                        std::vector<Finding>& into) {
  if (std::string text = device_problem(pod, ours); !text.empty()) {
    into.push_back(
        {Code::DeviceNotOpened, Severity::Warning, of, std::move(text),
         "Request the RDMA resource of the nodes' device plugin, or make the container privileged."});
  }
}

void judge_setting(std::string_view name, std::string_view value, const Subject& of,
                   std::vector<Finding>& into) {
  auto problem = setting_problem(name, value);
  Code code = misspelling(name) ? Code::UnknownVariable : Code::ValueMisread;
  std::string lo = name == variable::kSocketIfname ? loopback_problem(value, kNewestNccl) : "";
  if (name == "GLOO_SOCKET_IFNAME" && value == "lo")
    lo = "GLOO_SOCKET_IFNAME=lo takes lo, over which no other host is reached.";
  if (!lo.empty()) {
    code = Code::LoopbackFirst;
    problem = std::move(lo);
  }
  // A value that is known and holds one: it stays text.
  const bool reference = !first_reference(value).empty();
  if (reference) {
    code = Code::ValueMisread;
    problem = reference_problem(name, value);
  }
  if (!problem) return;
  into.push_back({code, reference ? Severity::Error : Severity::Warning, of, *problem});
  if (code == Code::ValueMisread)
    into.back().remedy = "Write it as the sentence says; `nccl-env what " + printable(name) +
                         "` tells what the variable takes.";
  if (reference)
    into.back().remedy = "Define it higher up in the container's env, or write the value itself.";
  into.back().subject.path = name;
}

std::string policys_remedy(std::string_view variable) {
  if (variable == variable::kIbHca) return "Correct spec.hca of the policy, or say FromNode there.";
  if (variable == variable::kIbGidIndex) return "Correct spec.gidIndex of the policy, or say Auto there.";
  if (variable == variable::kSocketIfname)
    return "Correct spec.socketInterface of the policy, or say FromNode there.";
  return "Correct the variable in the policy's env, or leave it out there.";
}

void judge_policys_setting(std::string_view name, std::string_view value, const Subject& of,
                           std::vector<Finding>& into) {
  if (!first_reference(value).empty()) return;  // the container may define it
  const std::size_t before = into.size();
  judge_setting(name, value, of, into);
  if (into.size() > before) into.back().remedy = policys_remedy(name);
}

namespace {

std::vector<std::string> hcas_of(const NcclSelection& selection) {
  std::vector<std::string> names;
  for (const NcclSelection::ChosenPort& port : selection.ports) names.push_back(port.hca);
  return names;
}

std::vector<std::string> names_of_list(std::string_view list) {
  return parse_nccl_name_list(list, kNewestNccl, nccl_max_hcas(kNewestNccl)).names();
}

}  // namespace

void add_short_list(const NcclSelection& with_us, std::string_view own, std::string_view of_node,
                    const Subject& of, std::vector<Finding>& into) {
  const auto is_of_list = [](const auto& fault) { return judged(fault.first).variable == variable::kIbHca; };
  if (std::ranges::any_of(with_us.faults, is_of_list)) return;
  add_short(variable::kIbHca, own.empty(), names_of_list(of_node), hcas_of(with_us), of, into);
}

void add_lost_list(const NcclSelection& with_us, std::string_view of_node, std::string_view why,
                   const Subject& of, std::vector<Finding>& into) {
  if (!is_good(into)) return;
  const std::vector<std::string> offered = names_of_list(of_node), taken = hcas_of(with_us);
  const std::set<std::string> known(offered.begin(), offered.end());
  if (std::ranges::all_of(taken, [&](const std::string& name) { return known.contains(name); })) return;
  into.push_back({Code::UserListShort, Severity::Warning, of,
                  "NCCL_IB_HCA is left out, so that NCCL takes other HCAs than the node's " +
                      std::to_string(offered.size()) + ": " + list_difference(offered, taken) + ". " +
                      std::string(why),
                  "Remove that variable from the container to have list and index of the node, or set "
                  "NCCL_IB_HCA beside it, too."});
  into.back().subject.path = variable::kIbHca;
}

void add_short_lists(const std::vector<EngineChoices>& engines, const Subject& of,
                     std::vector<Finding>& into) {
  for (const EngineChoices& one : engines)
    add_short(one.list, false, one.offered, one.alone.devices, of, into);
}

void add_by_container(const std::vector<ContainerFindings>& containers, std::vector<Finding>& into) {
  std::map<std::string, std::size_t> have;  // containers that have the sentence
  for (const ContainerFindings& container : containers) {
    std::set<std::string> sentences;
    for (const Finding& finding : container.findings) sentences.insert(finding.sentence);
    for (const std::string& sentence : sentences) ++have[sentence];
  }
  for (const ContainerFindings& container : containers) {
    for (const Finding& finding : container.findings) {
      Finding& added = into.emplace_back(finding);
      if (have[finding.sentence] < containers.size())
        added.sentence = "Container " + printable(container.name) + ": " + finding.sentence;
    }
  }
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

std::string list_difference(const std::vector<std::string>& from, const std::vector<std::string>& to) {
  const auto only_in = [](const std::vector<std::string>& of, const std::vector<std::string>& others) {
    std::vector<std::string> names;
    for (const std::string& name : of) {
      if (std::ranges::find(others, name) == others.end()) names.push_back(name);
    }
    return join_some(names, kMostNames);
  };
  const std::string without = only_in(from, to), with = only_in(to, from);
  return (without.empty() ? "" : "without " + without) + (without.empty() || with.empty() ? "" : "; ") +
         (with.empty() ? "" : "with " + with);
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
