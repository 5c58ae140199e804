// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/preview.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "decide/container_env.h"
#include "decide/engine_values.h"
#include "decide/match.h"
#include "explain/judgement.h"
#include "explain/value_print.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {

constexpr const char* kNoteOwnRows =
    "The pod's sub-interface has GID rows of its own, which are not known before it starts.";

NodeFabric seen_in_pod(const NodeFabric& table, Exposure exposure, bool host_network) {
  NodeFabric seen = table;
  if (!host_network) seen.interfaces.reset();
  if (exposure == Exposure::Host) return seen;
  for (Port& port : seen.ports) {
    port.link_layer = link_layer_of(port);
    if (port.link_layer == LinkLayer::InfiniBand) continue;  // every process sees these GIDs
    if (!port.transport && is_roce(port)) port.transport = Transport::RoCE;
    port.gids.reset();
    port.gid_table_length.reset();
  }
  return seen;
}

NcclSelection nccl_in_pod(const NodeFabric& seen, const NcclEnv& env, Exposure exposure, bool host_network,
                          const NcclVersion& version, const std::vector<std::string>& notes) {
  const bool own_rows = exposure == Exposure::SubInterface;
  NcclSelection selection = nccl_select(seen, env, version, {!own_rows, host_network});
  if (own_rows && selection.needs_rows) selection.notes.emplace_back(kNoteOwnRows);
  selection.notes.insert(selection.notes.begin(), notes.begin(), notes.end());
  return selection;
}

std::string note_elsewhere(std::string_view variable) {
  return "The container takes " + std::string(variable) +
         " from elsewhere; its value is not known here and counts as unset.";
}

const Value* ExplainedContainer::find(std::string_view variable) const {
  const Value* given = find_named(env, variable);
  return given || !conf ? given : find_named(*conf, variable);
}

namespace {

// The node's values for pods of this exposure.
const NodeValues* values_of_node(const ExplainInput& input) {
  return input.binding ? &values_of(*input.binding, input.plan.exposure) : nullptr;
}

// `in_env`: as a variable, else a line of the file.
void add_line(Value planned, const NodeValues* values, bool in_env, std::vector<Value>& lines) {
  const bool of_file = planned.source == Source::File && !planned.value && file_engine_of(planned.name);
  if ((planned.source == Source::Node || of_file) && values) {
    const std::string* value = values->find(planned.name);
    if (!value) return;
    planned.value = in_env ? values->env_text(planned.name) : *value;
    if (of_file) planned.source = Source::Node;
    if (const auto why = values->why.find(planned.name); why != values->why.end())
      planned.detail = why->second;
  } else if (planned.source == Source::File && planned.value) {
    planned.source = Source::Policy;  // a constant in the file of an engine
  } else if (planned.source != Source::Policy) {
    planned.state = State::Later;
  }
  lines.push_back(std::move(planned));
}

// An address family or range that the node does not need has no entry: nothing is missing.
void add_omission(const std::string& name, const NodeValues* values, ExplainedContainer& into) {
  if (!values) return;
  if (values->find(name)) return;
  const Value* omission = values->omission(name);
  if (!omission) return;
  into.omitted.push_back(*omission);
  into.omitted.back().name = name;
}

// The container's own variables; beside one stands what the node would give in its place.
void add_own(const ExplainInput& input, const ContainerPlan& plan, const NodeValues* values,
             std::vector<Value>& own) {
  const Container& container = input.pod.containers[plan.position];
  const EnvReferences references(container);
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvEntry& entry = container.env[i];
    const Value* ours = find_named(plan.set, entry.name);
    if (!has_known_prefix(entry.name) || (ours && ours->state == State::Present)) continue;
    if (std::ranges::find(plan.stale, i) != plan.stale.end()) continue;
    Value value{.name = std::string(entry.name), .state = State::Users, .in_env = true};
    value.value = references.value_of(entry);
    const bool known = values && value.value && values->set.contains(value.name);
    if (known && values->set.at(value.name) != *value.value)
      value.detail = "the node's: " + values->set.at(value.name);
    std::erase_if(own, [&](const Value& earlier) { return earlier.name == value.name; });
    own.push_back(std::move(value));
  }
}

ExplainedContainer explain_container(const ExplainInput& input, const ContainerPlan& plan) {
  ExplainedContainer container;
  container.name = std::string(input.pod.containers[plan.position].name);
  std::optional<NodeValues> of_pod;
  if (input.binding) of_pod = values_for(*input.binding, input.plan.exposure, input.pod.host_network);
  const NodeValues* values = of_pod ? &*of_pod : nullptr;
  for (const Value& planned : plan.set) {
    if (planned.in_env) add_line(planned, values, true, container.env);
    if (planned.source == Source::Node || planned.source == Source::File)
      add_omission(planned.name, values, container);
  }
  if (plan.mounts_conf) {
    container.conf.emplace();
    container.names_conf = plan.names_conf;
    for (const Value& planned : input.plan.file) add_line(planned, values, false, *container.conf);
  }
  for (const Value& planned : plan.set) {
    if (planned.in_engine_file) add_line(planned, values, false, container.engine_lines);
  }
  container.omitted.insert(container.omitted.end(), plan.omitted.begin(), plan.omitted.end());
  add_own(input, plan, values, container.own);
  return container;
}

// A container's own NCCL variables, and notes on the unknown ones.
struct OwnEnv {
  NcclEnv values;
  std::vector<std::string> notes;
};

OwnEnv own_env(const Container& container, const ContainerPlan& plan) {
  OwnEnv env;
  const EnvReferences references(container);
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvEntry& entry = container.env[i];
    if (!has_known_prefix(entry.name)) continue;
    if (std::ranges::find(plan.stale, i) != plan.stale.end()) continue;
    const Value* ours = find_named(plan.set, entry.name);
    if (ours && ours->state == State::Present) continue;
    const auto& value = references.value_of(entry);
    if (!value) {
      env.values.erase(std::string(entry.name));
      env.notes.push_back(note_elsewhere(entry.name));
    } else {
      env.values.insert_or_assign(std::string(entry.name), *value);
    }
  }
  if (!container.env_from_prefixes.empty()) env.notes.emplace_back(kNoteEnvFrom);
  const auto by_file = [](const Value& omission) { return omission.reason == Reason::ConfPresent; };
  if (std::ranges::any_of(plan.omitted, by_file))
    env.notes.emplace_back("The container's own file may hold further variables, which are not known here.");
  return env;
}

// The containers that get values, the main ones first: jobs run in them.
std::vector<const ContainerPlan*> containers_in_scope(const ExplainInput& input) {
  std::vector<const ContainerPlan*> plans;
  for (const ContainerPlan& plan : input.plan.containers) {
    if (plan.in_scope) plans.push_back(&plan);
  }
  std::stable_partition(plans.begin(), plans.end(), [&](const ContainerPlan* plan) {
    return input.pod.containers[plan->position].kind == ContainerKind::Main;
  });
  return plans;
}

// NCCL's choice in one container: by its own env, and with ours beside it.
struct Chosen {
  NcclSelection alone;
  std::optional<NcclSelection> with_us;  // if all of ours is known
  std::optional<NcclSelection> listed;   // if all but the GID is, which the pod finds itself
  NcclEnv env = {};                      // with ours
};

Chosen choose_in(const ExplainInput& input, const ContainerPlan& plan, const ExplainedContainer& container) {
  const OwnEnv own = own_env(input.pod.containers[plan.position], plan);
  const NodeFabric seen = seen_in_pod(*input.table, input.plan.exposure, input.pod.host_network);
  const auto select = [&](const NcclEnv& env) {
    NcclSelection selection =
        nccl_in_pod(seen, env, input.plan.exposure, input.pod.host_network, input.version, own.notes);
    if (input.plan.no_rail) std::erase(selection.notes, kNoteOwnRows);  // it has no sub-interface
    return selection;
  };
  Chosen chosen{select(own.values), {}, {}};
  if (std::ranges::find(own.notes, note_elsewhere(variable::kIbHca)) != own.notes.end()) return chosen;
  NcclEnv with_us = own.values;
  bool later = false;
  for (const Value& variable : container.env) {
    if (variable.value) with_us.insert_or_assign(variable.name, *variable.value);
  }
  for (const Value& line : container.conf.value_or(std::vector<Value>())) {
    if (with_us.contains(line.name)) continue;  // env beats the file
    if (!line.value && line.name == variable::kIbHca) return chosen;
    if (line.value)
      with_us.emplace(line.name, *line.value);
    else
      later = true;
  }
  (later ? chosen.listed : chosen.with_us) = select(with_us);
  chosen.env = std::move(with_us);
  return chosen;
}

// The constants of the policy that the container gets.
std::vector<const Value*> policys_values(const ExplainedContainer& container) {
  std::vector<const Value*> values;
  for (const auto* all : {&container.env, container.conf ? &*container.conf : nullptr}) {
    if (!all) continue;
    for (const Value& value : *all) {
      if (value.value && value.is_from(Source::Policy)) values.push_back(&value);
    }
  }
  return values;
}

// Adds NCCL's choice in the first container, and to `found`, per container, the faults of all.
void add_choices(const ExplainInput& input, const Subject& pod, Explanation& into,
                 std::vector<ContainerFindings>& found) {
  if (!input.table || input.plan.exposure == Exposure::PodOwned) return;
  const std::vector<const ContainerPlan*> plans = containers_in_scope(input);
  const NodeFabric seen = seen_in_pod(*input.table, input.plan.exposure, input.pod.host_network);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Chosen chosen = choose_in(input, *plans[i], into.containers[i]);
    std::vector<Finding> faults;
    if (const auto& choice = chosen.with_us ? chosen.with_us : chosen.listed) {
      faults = judge_selection(*choice, chosen.env, pod);
      if (!chosen.with_us)
        std::erase_if(faults, [](const Finding& fault) { return fault.subject.path != variable::kIbHca; });
      const NodeValues* values = values_of_node(input);
      tell_fallback(find_named(into.containers[i].own, variable::kIbHca) != nullptr,
                    values ? values->omission(variable::kIbHca) : nullptr, faults);
    }
    NcclEnv lists = own_env(input.pod.containers[plans[i]->position], *plans[i]).values;
    for (const Value* value : policys_values(into.containers[i]))
      lists.try_emplace(value->name, *value->value);
    judge_lists(seen, lists, pod, faults);
    for (Finding& fault : faults) {
      const Value* given = into.containers[i].find(fault.subject.path);
      if (given && given->is_from(Source::Policy)) fault.remedy = policys_remedy(fault.subject.path);
    }
    std::ranges::move(faults, std::back_inserter(found[i].findings));
    if (i > 0) continue;
    into.nccl_alone = std::move(chosen.alone);
    into.nccl_with_us = std::move(chosen.with_us);
  }
}

// Values of the file count where env has none.
void add_engines(const ExplainInput& input, Explanation& into) {
  if (!input.policy || !input.table || into.containers.empty() || input.plan.exposure == Exposure::PodOwned)
    return;
  const ContainerPlan& first = *containers_in_scope(input).front();
  const Container& container = input.pod.containers[first.position];
  const NcclEnv own = own_env(container, first).values;
  const NodeFabric seen = seen_in_pod(*input.table, input.plan.exposure, input.pod.host_network);
  NcclEnv with_us = own;
  bool known = true;
  for (const auto* values : {&into.containers.front().env, &into.containers.front().engine_lines}) {
    for (const Value& value : *values) {
      known = known && value.value;
      if (value.value) with_us.try_emplace(value.name, *value.value);
    }
  }
  into.engines =
      engine_choices(*input.policy, seen, container, own, known ? &with_us : nullptr, values_of_node(input));
}

std::string_view first_sentence(std::string_view text) {
  const std::size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

// The first container's own list, or none by a variable of its own, beside that of the node.
void add_short_list(const ExplainInput& input, const Subject& pod, Explanation& into) {
  const NodeValues* values = values_of_node(input);
  const auto list = values ? values->set.find(variable::kIbHca) : decltype(values->set.end())();
  const Value* own = find_named(into.containers.front().own, variable::kIbHca);
  const Value* omitted = find_named(into.containers.front().omitted, variable::kIbHca);
  if (!values || list == values->set.end()) return;
  if (own)
    nccl_env::add_short_list(*into.nccl_with_us, own->value.value_or(""), list->second, pod, into.findings);
  else if (omitted && omitted->reason == Reason::UserSetGroup)
    add_lost_list(*into.nccl_with_us, list->second, first_sentence(omitted->detail), pod, into.findings);
}

Subject subject_of(const Pod& pod) {
  return {.kind = "Pod", .name_space = std::string(pod.name_space), .name = std::string(pod.name)};
}

// The Binding of the pod is refused, or its kubelet does not read what its env takes from a file.
void add_refusal(const ExplainInput& input, const Subject& pod, Explanation& into) {
  if (!input.plan.inject || !input.binding) return;
  const auto any_value = [&](const auto& has) {
    return std::ranges::any_of(input.plan.containers,
                               [&](const ContainerPlan& plan) { return std::ranges::any_of(plan.set, has); });
  };
  const bool reads_node = any_value([](const Value& planned) { return planned.source == Source::Node; });
  const bool reads_file = any_value([](const Value& planned) { return planned.by_file_key; });
  const Value* why =
      refusal_of(*input.binding, reads_node ? std::optional(input.plan.exposure) : std::nullopt, reads_file);
  const bool refused = why != nullptr;
  if (!refused && reads_file && input.binding->no_env_file) why = &*input.binding->no_env_file;
  if (!why) return;
  into.findings.push_back(
      {refused ? Code::HeldBack : Code::NoList, Severity::Error, pod,
       std::string(refused ? "The policy says onUnresolved: Deny, so this node is refused ("
                           : "All variables are empty (") +
           std::string(to_string(*why->reason)) + "): " + why->detail,
       std::string(remedy(*why->reason))});
}

// The omission of a list that the pod is to find itself, and will not: it sees the node's devices by the same
// rules, and none of them is the fabric. Null where that is not certain.
const Value* absent_inside(const ExplainInput& input, const ExplainedContainer& container) {
  const NodeValues* values = values_of_node(input);
  const Value* list = container.find(variable::kIbHca);
  const bool later = list && !list->value && list->source == Source::Pod;
  if (!later || !values || input.plan.exposure != Exposure::SubInterface) return nullptr;
  const Value* omission = values->omission(variable::kIbHca);
  return omission && omission->reason == Reason::NoFabricPort ? omission : nullptr;
}

// The devices of a shared plugin stay outside of the pod, as the node's reason says.
void add_outside(const ExplainInput& input, const Subject& pod, Explanation& into) {
  const NodeValues* values = values_of_node(input);
  if (!input.plan.inject || !values || input.plan.exposure != Exposure::SubInterface) return;
  const Value* list = values->omission(variable::kIbHca);
  if (!list || list->reason != Reason::PodOwnsDevices) return;
  into.findings.push_back(
      {Code::DeviceNotOpened, Severity::Warning, pod,
       list->detail + " Those of a shared device plugin stay outside.",
       "Set the node to shared mode (rdma system set netns shared), or give the pod devices of its own by a "
       "plugin that moves them."});
}

// The pod's networks bring fewer rails than the policy expects, which the init container finds, too; or than
// the node has, which may be meant.
void add_few_rails(const ExplainInput& input, const Subject& pod, Explanation& into) {
  if (!input.plan.inject || input.plan.exposure != Exposure::SubInterface) return;
  if (!input.plan.few_rails.empty())
    into.findings.push_back({Code::MissingRail, Severity::Warning, pod, input.plan.few_rails,
                             "Ask for a network of each rail, or correct expectPorts of the policy."});
  if (!input.plan.few_rails.empty() || !input.table || !input.policy) return;
  const NetworkMatch networks = match_networks(input.pod, *input.policy);
  const std::vector<const Port*> fabric =
      choose_policy_ports(*input.table, *input.policy, Exposure::SubInterface, input.now).fabric;
  if (!networks.any || networks.rails == 0 || networks.rails >= fabric.size()) return;
  if (link_layer_of(*fabric.front()) == LinkLayer::InfiniBand) return;  // whose rails need no network
  into.findings.push_back({Code::MissingRail, Severity::Info, pod,
                           "The pod's networks bring " + std::to_string(networks.rails) + " of the node's " +
                               std::to_string(fabric.size()) + " rails.",
                           "Ask for a network of each rail."});
}

// The node gives no list, and NCCL takes what it finds.
void add_no_list(const ExplainInput& input, const Subject& pod, Explanation& into) {
  const auto tells_more = [](const Finding& finding) {
    return finding.code == Code::FellBack || finding.code == Code::HeldBack;
  };
  if (!input.plan.inject || into.containers.empty() || std::ranges::any_of(into.findings, tells_more)) return;
  const Value* list = find_named(into.containers.front().omitted, variable::kIbHca);
  if (!list) list = absent_inside(input, into.containers.front());
  if (!list || !list->reason) return;
  const bool no_rail = std::ranges::any_of(
      into.warnings, [](const std::string& warning) { return warning.ends_with(no_rail_text()); });
  const bool rails = list->reason == Reason::PodRailsUnknown && !no_rail;  // else NoRail tells it
  if (scope_of(*list->reason) != ReasonScope::Node && !rails) return;
  nccl_env::add_no_list(to_string(*list->reason),
                        list->detail.empty() ? meaning(*list->reason) : list->detail, remedy(*list->reason),
                        true, pod, into.findings);
}

// The node does not have the interface that the policy asks for.
void add_no_interface(const Subject& pod, Explanation& into) {
  if (!into.inject || into.containers.empty()) return;
  const Value* name = find_named(into.containers.front().omitted, variable::kSocketIfname);
  if (name && name->reason)
    nccl_env::add_no_interface(to_string(*name->reason), name->detail, pod, into.findings);
}

// Tells of a container that has GPUs and gets nothing, where those that get values (`ours`) have none.
void add_rank_outside(const Pod& pod, const std::vector<bool>& ours, const Subject& of,
                      std::vector<Finding>& into) {
  const Container *outside = nullptr, *inside = nullptr;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const bool has_gpu = asks_for_processor(pod.containers[i]);
    if (ours[i] && has_gpu) return;
    if (ours[i] && !inside) inside = &pod.containers[i];
    if (has_gpu && !outside) outside = &pod.containers[i];
  }
  if (!outside || !inside) return;
  into.push_back({Code::NoList, Severity::Warning, of,
                  "Container " + printable(outside->name) +
                      " has the GPUs and gets nothing: the RDMA resource is asked "
                      "for by container " +
                      printable(inside->name) + ".",
                  "Ask for the RDMA resource in the container that runs the ranks."});
}

// A list that NCCL reads otherwise than it is meant names no device for that reason.
void keep_cause_of_list(std::vector<Finding>& findings) {
  const auto misread = std::ranges::find_if(findings, [](const Finding& finding) {
    return finding.code == Code::ValueMisread && finding.subject.path == variable::kIbHca;
  });
  if (misread == findings.end()) return;
  const auto follows = [](const Finding& finding) {
    return finding.code == Code::NoSuchDevice || finding.code == Code::FellBack;
  };
  if (std::ranges::none_of(findings, follows)) return;
  misread->severity = Severity::Error;
  std::erase_if(findings, follows);
}

// Findings take the place of warnings that say the same.
void judge(const ExplainInput& input, Explanation& into) {
  const Subject pod = subject_of(input.pod);
  add_refusal(input, pod, into);
  std::vector<ContainerFindings> found;
  const std::vector<const ContainerPlan*> plans = containers_in_scope(input);
  for (const ExplainedContainer& container : into.containers) {
    std::vector<Finding>& findings = found.emplace_back(ContainerFindings{container.name, {}}).findings;
    for (const Value& own : container.own) {
      if (own.value) judge_setting(own.name, *own.value, pod, findings);
    }
    for (const Value* value : policys_values(container))
      judge_policys_setting(value->name, *value->value, pod, findings);
    const ContainerPlan& plan = *plans[found.size() - 1];
    const NcclEnv own_values = own_env(input.pod.containers[plan.position], plan).values;
    if (into.inject) add_users_off(own_values, pod, findings);
    if (input.pod.name.empty()) add_host_id(own_values, pod, findings);
    if (into.inject)
      add_turned_off([&](std::string_view name) { return container.find(name); }, pod, findings);
  }
  std::vector<bool> ours(input.pod.containers.size());
  for (const ContainerPlan& plan : input.plan.containers) ours[plan.position] = plan.in_scope;
  add_device_problem(input.pod, ours, pod, into.findings);
  add_rank_outside(input.pod, ours, pod, into.findings);
  add_choices(input, pod, into, found);
  for (ContainerFindings& container : found) keep_cause_of_list(container.findings);
  add_by_container(found, into.findings);
  add_no_list(input, pod, into);
  add_outside(input, pod, into);
  const auto rails = [](const Finding& finding) { return finding.code == Code::NoList; };
  if (std::ranges::none_of(into.findings, rails)) add_few_rails(input, pod, into);
  if (input.table && input.policy) {
    tell_no_port(*input.table, *input.policy, input.plan.exposure, input.now,
                 into.nccl_with_us ? &*into.nccl_with_us : nullptr, into.findings);
  }
  add_no_interface(pod, into);
  const std::string no_rail = no_rail_text();
  if (std::erase_if(into.warnings, [&](const std::string& warning) { return warning.ends_with(no_rail); }) >
      0)
    into.findings.push_back(
        {Code::NoRail, Severity::Warning, pod, std::string(words_of(Code::NoRail).meaning)});
  if (into.nccl_with_us) add_short_list(input, pod, into);
  if (const NodeValues* values = values_of_node(input);
      values && values->set.contains(variable::kIbHca) && input.table && input.policy &&
      !into.containers.empty() && !find_named(into.containers.front().own, variable::kIbHca))
    judge_list_ports(*input.table, *input.policy, input.plan.exposure, input.now, pod, into.findings);
  add_short_lists(into.engines, pod, into.findings);
  fold_mixed_links(into.findings);
  sort_findings(into.findings);
  std::erase_if(into.warnings, [&](const std::string& warning) {
    return std::ranges::any_of(into.findings, [&](const Finding& finding) {
      return warning.ends_with(finding.sentence) || warning.ends_with(continued(finding.sentence));
    });
  });
}

// The policy may leave open whether the fabric is RoCE; then the node's table tells it.
bool lacks_rail(const ExplainInput& input) {
  const NodeValues* values = values_of_node(input);
  if (!input.plan.no_rail || !input.table || !values || !input.policy) return false;
  if (input.policy->names(LinkLayer::Ethernet)) return false;  // a warning of the plan's says it
  const PortChoice choice =
      choose_policy_ports(*input.table, *input.policy, Exposure::SubInterface, input.now);
  return !choice.fabric.empty() && link_layer_of(*choice.fabric.front()) == LinkLayer::Ethernet;
}

constexpr std::size_t kMostDemands = 32;

void add_demand(std::string_view what, std::vector<std::string>& into) {
  if (into.size() >= kMostDemands || std::ranges::find(into, what) != into.end()) return;
  into.emplace_back(what);
}

// "nics: ResourceClaimTemplate ml/rdma (mrdma.google.com)".
std::string claim_text(const PodClaim& claim, std::string_view name_space, const PodClaims::Entry* known) {
  std::vector<std::string> classes;
  for (const DeviceRequest& request : known && known->requests ? *known->requests : DeviceRequests())
    classes.insert(classes.end(), request.classes.begin(), request.classes.end());
  return std::string(claim.name) + ": " + describe(claim_ref(claim, name_space)) +
         (classes.empty() ? "" : " (" + join(classes) + ")");
}

PodDemands demands_of(const Pod& pod, const PodClaims* claims) {
  PodDemands demands;
  for (const Container& container : pod.containers) {
    for (const std::string_view resource : container.resources) add_demand(resource, demands.resources);
  }
  for (std::size_t i = 0; i < pod.claims.size() && i < kMostDemands; ++i) {
    const bool known = claims && i < claims->entries.size();
    add_demand(claim_text(pod.claims[i], pod.name_space, known ? &claims->entries[i] : nullptr),
               demands.claims);
  }
  const PodNetworks networks = networks_of(pod);
  for (const std::string& network : networks.names) add_demand(network, demands.networks);
  for (const HostPathVolume& volume : pod.host_paths) {
    if (volume.path == "/dev" || volume.path.starts_with("/dev/")) add_demand(volume.path, demands.devices);
  }
  for (const std::string_view resource : pod.misplaced) add_demand(resource, demands.misplaced);
  return demands;
}

// A skip that is a mistake.
void tell_no_list(const Pod& pod, Explanation& into) {
  nccl_env::add_no_list(to_string(*into.reason), into.detail.empty() ? meaning(*into.reason) : into.detail,
                        into.remedy, may_have_devices(pod), subject_of(pod), into.findings);
  into.remedy.clear();  // the finding's
  into.warnings.clear();
}

// A pod that gets nothing may pass its variables on (mpirun -x): those that no reader understands are told.
void judge_settings_of(const Pod& pod, Explanation& into) {
  for (const Container& container : pod.containers) {
    const EnvReferences references(container);
    for (const EnvEntry& entry : container.env) {
      if (!has_known_prefix(entry.name)) continue;
      if (const auto& value = references.value_of(entry))
        judge_setting(entry.name, *value, subject_of(pod), into.findings);
    }
  }
  std::erase_if(into.findings, [](const Finding& finding) { return finding.code == Code::LoopbackFirst; });
  sort_findings(into.findings);
}

}  // namespace

void tell_mistake(const Pod& pod, Explanation& into) {
  if (!is_mistake(*into.reason, pod)) return;
  tell_no_list(pod, into);
}

Explanation explain(const ExplainInput& given) {
  ExplainInput input = given;
  std::optional<NodeFabric> aged;
  if (input.stale && input.table) input.table = &aged.emplace(without_states(*input.table));
  Explanation explanation;
  explanation.inject = input.plan.inject;
  explanation.reason = input.plan.reason;
  explanation.detail = input.plan.detail;
  explanation.policy = input.plan.policy;
  explanation.node = std::string(input.node);
  explanation.warnings = input.plan.warnings;
  explanation.version = input.version;
  if (!explanation.inject && explanation.reason) explanation.remedy = remedy(*explanation.reason);
  explanation.demands = demands_of(input.pod, input.claims);
  if (input.plan.reason == Reason::NotRdma && input.policy)
    explanation.remedy = unmatched_remedy(input.pod, *input.policy, input.claims);
  if (!input.plan.inject && input.plan.reason != Reason::DryRun) {
    if (input.plan.reason) tell_mistake(input.pod, explanation);
    const bool unmatched = input.plan.reason == Reason::NotRdma && input.policy;
    judge_settings_of(input.pod, explanation);
    if (std::string how = unmatched ? unmatched_rdma(input.pod, *input.policy) : ""; !how.empty()) {
      explanation.detail = std::move(how);
      tell_no_list(input.pod, explanation);
    }
    return explanation;
  }
  explanation.exposure = input.plan.exposure;
  for (const ContainerPlan* plan : containers_in_scope(input))
    explanation.containers.push_back(explain_container(input, *plan));
  if (const NodeValues* values = values_of_node(input))
    explanation.warnings.insert(explanation.warnings.end(), values->notes.begin(), values->notes.end());
  for (const ContainerPlan* plan : containers_in_scope(input)) {
    const Container& container = input.pod.containers[plan->position];
    if (!container.env_from_prefixes.empty())
      explanation.warnings.push_back(
          "container " + std::string(container.name) +
          ": envFrom may hold variables of NCCL's, which beat those of the file and are "
          "not known here");
  }
  if (lacks_rail(input)) explanation.warnings.push_back(no_rail_text());
  add_engines(input, explanation);
  judge(input, explanation);
  return explanation;
}

}  // namespace nccl_env
