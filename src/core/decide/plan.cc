// SPDX-License-Identifier: Apache-2.0
// The plan for a pod at CREATE.
#include <algorithm>
#include <array>

#include "decide/conf_text.h"
#include "decide/match.h"
#include "decide/plan_status.h"
#include "decide/pod_planner.h"
#include "decide/warnings.h"
#include "nccl_env/core/decide/decide.h"
#include "nccl_env/core/nccl/conf_file.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxWarnings = 3;

// What Binding may add later: the node's values, and as much again with them in texts.
constexpr std::size_t kBindingReserve = 8u << 10;

// The four texts hold the constants, and three of them what the node gives.
std::size_t binding_reserve(const NcclPolicy& policy) {
  if (!policy.deliver_file) return kBindingReserve;
  std::size_t constants = 0;
  for (const auto& [name, value] : policy_constants(policy, false))
    constants += name.size() + value.size() + 2;
  return 2 * kBindingReserve + 4 * constants;
}

// The bytes that the pod's annotations will have: what stays of them, the status, and room for Binding.
std::size_t annotation_budget(const Pod& pod, const Plan& plan, const NcclPolicy& policy) {
  std::size_t bytes = key::kStatus.size() + plan.status.size() + binding_reserve(policy);
  for (const auto& [name, value] : pod.annotations) {
    if (name != key::kStatus && !is_node_key(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

Plan skip(Plan plan, Reason reason, std::string detail) {
  plan.inject = false;
  plan.reason = reason;
  plan.detail = std::move(detail);
  plan.status.clear();
  return plan;
}

}  // namespace

std::string_view to_string(Source source) {
  switch (source) {
    case Source::Node:
      return "Node";
    case Source::File:
      return "File";
    case Source::Pod:
      return "Pod";
    case Source::Policy:
      break;
  }
  return "Policy";
}
std::string_view to_string(Form form) {
  switch (form) {
    case Form::Binding:
      return "Binding";
    case Form::ContainerStart:
      return "ContainerStart";
    case Form::Constants:
      break;
  }
  return "Constants";
}

bool PlannedVariable::in_env() const {
  return (source == Source::Node || source == Source::Policy) && name != conf_file::kName;
}

bool is_node_key(std::string_view annotation_key) {
  constexpr std::array kPrefixes{key::kHostPrefix, key::kHostNetworkPrefix, key::kSubInterfacePrefix,
                                 key::kPodOwnedPrefix};
  return annotation_key == key::kNode ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return annotation_key.starts_with(prefix); });
}

std::string field_path(std::string_view annotation_key) {
  std::string path;
  path.reserve(64);  // the longest of ours
  return path.append("metadata.annotations['").append(annotation_key).append("']");
}

Plan plan_pod(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options, const PodClaims* claims) {
  Plan plan;
  plan.policy = policy.name;
  plan.generation = policy.generation;
  PodMatch match = match_pod(pod, policy, claims);
  if (match.skip) {
    add_skip_warnings(pod, policy, match, plan.warnings);
    return skip(std::move(plan), *match.skip, std::move(match.detail));
  }
  plan.exposure = match.exposure;
  PodPlanner(pod, policy, options, match, plan).run();
  add_pod_warnings(pod, match, plan.warnings);
  if (plan.warnings.size() > kMaxWarnings) plan.warnings.resize(kMaxWarnings);
  plan.inject = true;
  plan.status = render_status(pod, plan);
  if (annotation_budget(pod, plan, policy) > kMaxAnnotationBytes) {
    return skip(std::move(plan), Reason::BudgetExceeded,
                "The pod's annotations leave no room for ours within 256 KiB.");
  }
  if (policy.mode == PolicyMode::DryRun) {
    plan.inject = false;
    plan.reason = Reason::DryRun;
    plan.detail = "Policy " + policy.name + " is in mode DryRun.";
    plan.warnings.clear();
  }
  return plan;
}

}  // namespace nccl_env
