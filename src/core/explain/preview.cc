// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/preview.h"

#include <algorithm>

#include "decide/our_entries.h"
#include "explain/nccl_in_pod.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env {
namespace {

// The node's values for pods of this exposure.
const NodeValues* values_for(const ExplainInput& input) {
  if (!input.binding || input.plan.exposure == Exposure::PodOwned) return nullptr;
  return input.plan.exposure == Exposure::Host ? &input.binding->host : &input.binding->sub_interface;
}

void add_line(const PlannedVariable& planned, const NodeValues* values,
              std::vector<ExplainedVariable>& lines) {
  if (planned.source == Source::Policy) return lines.push_back({planned.name, planned.value, "Policy"});
  if (planned.source == Source::Pod) return lines.push_back({planned.name, std::nullopt, "Pod"});
  if (!values) return lines.push_back({planned.name, std::nullopt, "Binding"});
  const auto value = values->set.find(planned.name);
  if (value != values->set.end()) lines.push_back({planned.name, value->second, "Node"});
}

// An address family or range that the node does not need has no entry: nothing is missing.
void add_omission(const std::string& name, const NodeValues* values, ExplainedContainer& into) {
  if (!values || values->set.contains(name)) return;
  const auto omission = std::find_if(values->omitted.begin(), values->omitted.end(),
                                     [&](const Omission& candidate) { return candidate.name == name; });
  if (omission != values->omitted.end()) into.omitted.push_back(*omission);
}

ExplainedContainer explain_container(const ExplainInput& input, const ContainerPlan& plan) {
  ExplainedContainer container;
  container.name = std::string(input.pod.containers[plan.position].name);
  const NodeValues* values = values_for(input);
  for (const PlannedVariable& planned : plan.set) {
    if (planned.in_env()) add_line(planned, values, container.env);
    if (planned.source == Source::Node || planned.source == Source::File)
      add_omission(planned.name, values, container);
  }
  if (plan.mounts_conf) {
    container.conf.emplace();
    for (const PlannedVariable& planned : input.plan.file) add_line(planned, values, *container.conf);
  }
  container.omitted.insert(container.omitted.end(), plan.omitted.begin(), plan.omitted.end());
  return container;
}

// A container's own NCCL variables, and what is not known of them.
struct OwnEnv {
  NcclEnv values;
  std::vector<std::string> notes;
};

OwnEnv own_env(const Container& container, const ContainerPlan& plan) {
  OwnEnv env;
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvEntry& entry = container.env[i];
    if (!entry.name.starts_with("NCCL_") || is_own_field(entry)) continue;
    const auto ours = [&](const PlannedVariable& planned) {
      return planned.present && planned.name == entry.name;
    };
    if (std::find(plan.stale.begin(), plan.stale.end(), i) != plan.stale.end()) continue;
    if (std::any_of(plan.set.begin(), plan.set.end(), ours)) continue;
    if (entry.has_source || entry.value.find("$(") != std::string_view::npos) {
      env.values.erase(std::string(entry.name));
      env.notes.push_back("The container takes " + std::string(entry.name) +
                          " from elsewhere; its value is not known here and counts as unset.");
    } else {
      env.values.insert_or_assign(std::string(entry.name), std::string(entry.value));
    }
  }
  if (!container.env_from_prefixes.empty())
    env.notes.emplace_back("The container's envFrom may hold further variables, which are not known here.");
  return env;
}

NcclSelection select(const ExplainInput& input, const NodeFabric& seen, const NcclEnv& env,
                     const OwnEnv& own) {
  NcclSelection selection =
      nccl_in_pod(seen, env, input.plan.exposure, input.pod.host_network, input.version);
  selection.notes.insert(selection.notes.begin(), own.notes.begin(), own.notes.end());
  return selection;
}

void add_selections(const ExplainInput& input, Explanation& into) {
  if (!input.table || input.plan.exposure == Exposure::PodOwned) return;
  const auto& plans = input.plan.containers;
  const auto first =
      std::find_if(plans.begin(), plans.end(), [](const ContainerPlan& plan) { return plan.in_scope; });
  if (first == plans.end() || into.containers.empty()) return;
  const OwnEnv own = own_env(input.pod.containers[first->position], *first);
  const NodeFabric seen = seen_in_pod(*input.table, input.plan.exposure, input.pod.host_network);
  into.nccl_alone = select(input, seen, own.values, own);
  NcclEnv with_us = own.values;
  const ExplainedContainer& container = into.containers.front();
  for (const ExplainedVariable& variable : container.env) {
    if (variable.value) with_us.insert_or_assign(variable.name, *variable.value);
  }
  for (const ExplainedVariable& line : container.conf.value_or(std::vector<ExplainedVariable>())) {
    if (with_us.contains(line.name)) continue;  // env beats the file
    if (!line.value) return;                    // what NCCL makes of it is not known either
    with_us.emplace(line.name, *line.value);
  }
  into.nccl_with_us = select(input, seen, with_us, own);
}

// A policy with onUnresolved: Deny refuses the Binding of a pod that reads values of ours.
void add_refusal(const ExplainInput& input, Explanation& into) {
  const NodeValues* values = values_for(input);
  if (!input.plan.inject || !values || !values->deny) return;
  if (input.binding->policy->on_unresolved != OnUnresolved::Deny) return;
  const auto reads_node = [](const ContainerPlan& plan) {
    return std::any_of(plan.set.begin(), plan.set.end(),
                       [](const PlannedVariable& planned) { return planned.source == Source::Node; });
  };
  if (!std::any_of(input.plan.containers.begin(), input.plan.containers.end(), reads_node)) return;
  into.warnings.push_back("The policy says onUnresolved: Deny, so this node is refused (" +
                          std::string(to_string(*values->deny)) + "): " + values->deny_detail);
}

}  // namespace

Explanation explain(const ExplainInput& input) {
  Explanation explanation;
  explanation.inject = input.plan.inject;
  explanation.reason = input.plan.reason;
  explanation.detail = input.plan.detail;
  explanation.policy = input.plan.policy;
  explanation.node = std::string(input.node);
  explanation.warnings = input.plan.warnings;
  explanation.version = input.version;
  if (!input.plan.inject && input.plan.reason != Reason::DryRun) return explanation;
  explanation.exposure = input.plan.exposure;
  for (const ContainerPlan& plan : input.plan.containers) {
    if (plan.in_scope) explanation.containers.push_back(explain_container(input, plan));
  }
  add_refusal(input, explanation);
  add_selections(input, explanation);
  return explanation;
}

}  // namespace nccl_env
