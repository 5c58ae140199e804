// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/plan.h"

#include <string>

#include "decide/annotation_budget.h"
#include "decide/compile.h"
#include "decide/pod_planner.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/decide/status.h"
#include "nccl_env/core/decide/warnings.h"
#include "nccl_env/core/pod/limits.h"

namespace nccl_env {
namespace {

Plan skip(Plan plan, Reason reason, std::string detail) {
  plan.inject = false;
  plan.reason = reason;
  plan.detail = std::move(detail);
  plan.status.clear();
  plan.escaped_status.clear();
  return plan;
}

// Takes away what an earlier review added before another webhook changed the pod, or what a copied manifest
// brings. The status tells it from what users wrote: without one, nothing is touched.
void clear_own(const Pod& pod, const CompiledPolicy& compiled, Plan& plan) {
  plan.volume = {};
  plan.resolver = {};
  if (!pod.annotation(key::kStatus) || is_mirror(pod)) return;
  PodMatch none;
  none.in_scope.resize(pod.containers.size());
  Plan cleared;
  PodPlanner(pod, compiled, std::nullopt, none, cleared).run();
  plan.cleared = std::move(cleared.containers);
  plan.volume = std::move(cleared.volume);
  plan.resolver = std::move(cleared.resolver);
}

Plan plan_with(const Pod& pod, const CompiledPolicy& compiled, bool at_binding,
               const std::optional<Resolver>& resolver, const PodClaims* claims) {
  const NcclPolicy& policy = compiled.policy;
  Plan plan;
  plan.policy = policy.name;
  plan.generation = policy.generation;
  plan.value_hash = policy.value_hash;
  if (!pod.excess.empty()) return skip(std::move(plan), Reason::BudgetExceeded, pod.excess);
  PodMatch match = match_pod(pod, policy, claims);
  if (match.skip) {
    clear_own(pod, compiled, plan);
    add_warnings(Moment::Skip, {pod, &policy, match}, plan);
    return skip(std::move(plan), *match.skip, std::move(match.detail));
  }
  plan.exposure = match.exposure;
  plan.no_rail = match.no_rail;
  if (match.few_rails) plan.few_rails = match.rails_unknown;
  const bool looks = resolver && !at_binding && pod.label(key::kResolve) != key::kAtBinding &&
                     pod.annotation(key::kResolve) != key::kAtBinding;
  PodPlanner(pod, compiled, looks ? resolver : std::nullopt, match, plan).run();
  add_warnings(Moment::Pod, {.pod = pod, .policy = &policy, .match = match, .made = &plan}, plan);
  plan.inject = true;
  const ShapeWishes& shape = compiled.of(shape_of(match.exposure, pod.host_network));
  EscapedText status = render_status(shape.status, pod, plan);
  plan.status = std::move(status.text);
  plan.escaped_status = std::move(status.escaped);
  if (annotation_budget(pod, plan, compiled.reserve) > kMaxAnnotationBytes) {
    clear_own(pod, compiled, plan);
    return skip(std::move(plan), Reason::BudgetExceeded,
                "The pod's annotations leave no room for ours within 256 KiB.");
  }
  if (policy.mode == PolicyMode::DryRun) {
    clear_own(pod, compiled, plan);
    plan.inject = false;
    plan.reason = Reason::DryRun;
    plan.detail = "Policy " + policy.name + " is in mode DryRun.";
    plan.warnings.clear();
  }
  return plan;
}

}  // namespace

Plan plan_pod(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options, const PodClaims* claims) {
  return plan_with(pod, compile(policy), options.at_binding, options.resolver, claims);
}

Plan plan_review(const PolicyLookup& found, const Review& review, const PlanOptions& options,
                 const PodClaims* claims) {
  if (found.policy) {
    const bool at_binding = options.at_binding || found.at_binding;
    return plan_with(review.pod, *found.compiled, at_binding, options.resolver, claims);
  }
  PodMatch none;
  none.skip = found.reason;
  none.detail = found.detail;
  Plan plan;
  static const NcclPolicy kNobodys;
  static const CompiledPolicy kNone = compile(kNobodys);
  clear_own(review.pod, kNone, plan);
  add_warnings(Moment::Skip, {review.pod, nullptr, none}, plan);
  return skip(std::move(plan), *found.reason, std::move(none.detail));
}

}  // namespace nccl_env
