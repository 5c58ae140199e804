// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/preview.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decide/container_env.h"
#include "decide/engine_values.h"
#include "decide/match.h"
#include "explain/judgement.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env {

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
  container.env_from = !input.pod.containers[plan.position].env_from_prefixes.empty();
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

Subject subject_of(const Pod& pod) {
  return {.kind = "Pod", .name_space = std::string(pod.name_space), .name = std::string(pod.name)};
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

namespace {

// Values that the init container of EnvFile only copies: those of the node's Binding.
void fill_copied(const NodeValues& values, PodRecord& record) {
  for (GivenContainer& container : record.containers) {
    for (Value& value : container.values) {
      if (!value.by_file_key || value.source != Source::Node || value.value) continue;
      const bool known = values.find(value.name) != nullptr;
      if (known) value.value = values.env_text(value.name);
      value.state = known ? State::Given : State::LeftOut;
    }
  }
}

// The plan as the webhook carries it out; under DryRun as it would.
Plan enforced_plan(const ExplainInput& input) {
  if (input.plan.reason != Reason::DryRun || !input.policy) return input.plan;
  NcclPolicy enforced = *input.policy;
  enforced.mode = PolicyMode::Enforce;
  return within_patch_bounds(input.pod, plan_pod(input.pod, enforced, input.options, input.claims));
}

// Makes the pod as the webhook does, with the Binding of its node where that is known.
nlohmann::json made_of(const ExplainInput& input, const Plan& plan) {
  const std::string patch = render_pod_patch(input.pod, plan, input.binding).text;
  nlohmann::json made = patch.empty() ? input.object : input.object.patch(parse_json(patch));
  // A pod that was printed has run, and this one has not.
  made.erase("status");
  if (made["metadata"].contains("annotations"))
    made["metadata"]["annotations"].erase("k8s.v1.cni.cncf.io/network-status");
  made["spec"].erase("nodeName");
  if (input.binding) made["spec"]["nodeName"] = input.node;
  if (!input.pod.name_space.empty()) made["metadata"]["namespace"] = input.pod.name_space;
  return made;
}

// Explains the pod that comes of the template as one of the cluster.
PodAnswer answer_template(const ExplainInput& input, const Plan& plan) {
  const nlohmann::json made = made_of(input, plan);
  ReviewParser parser;
  const std::string text = dump_json(made);
  const Result<Pod> pod = parser.parse_pod(text);
  PodAnswer unread;
  if (!pod) {
    unread.findings.push_back({Code::ObjectRefused, Severity::Error, subject_of(input.pod),
                               "The pod that admission makes of it is refused: " + pod.error().message});
    return unread;
  }
  PodRecord record = read_pod_record(*pod, made);
  PodSurroundings around;
  around.exists = false;
  around.claims = input.claims;
  around.namespace_policy = input.plan.policy;
  around.policy = input.binding ? input.binding->policy
                                : std::shared_ptr<const NcclPolicy>(std::shared_ptr<void>(), input.policy);
  around.table_known = input.binding != nullptr;
  around.table = std::shared_ptr<const NodeFabric>(std::shared_ptr<void>(), input.table);
  around.context = input.context;
  around.version = input.version;
  if (input.binding)
    fill_copied(values_for(*input.binding, input.plan.exposure, input.pod.host_network), record);
  return answer_pod(*pod, record, around);
}

// Takes over what is judged of the made pod. Findings take the place of warnings that say the same.
void judge(const ExplainInput& input, const Plan& plan, Explanation& into) {
  PodAnswer answer = answer_template(input, plan);
  into.findings = std::move(answer.findings);
  into.nccl_alone = std::move(answer.nccl_alone);
  into.nccl_with_us = std::move(answer.nccl_with_us);
  into.engines = std::move(answer.engines);
  const auto is_said = [&](const std::string& warning) {
    return std::ranges::any_of(into.findings, [&](const Finding& finding) {
      return warning.ends_with(finding.sentence) || warning.ends_with(continued(finding.sentence)) ||
             (finding.code == Code::NoRail && warning.ends_with(no_rail_text()));
    });
  };
  std::erase_if(into.warnings, is_said);
}

}  // namespace

Explanation explain(const ExplainInput& input) {
  const Plan enforced = enforced_plan(input);
  if (input.plan.reason == Reason::DryRun && enforced.reason && enforced.reason != Reason::DryRun) {
    return explain({input.pod, input.object, enforced, input.node, input.binding, input.table, input.version,
                    input.claims, input.policy, input.context, input.options});
  }
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
  judge(input, enforced, explanation);
  return explanation;
}

}  // namespace nccl_env
