// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <algorithm>

#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env::cli {
namespace {

Explanation without_policy(const std::string& node, const Situation& situation) {
  Explanation explanation;
  explanation.reason = situation.problem.problem;
  explanation.detail = situation.problem.detail;
  explanation.policy = situation.problem.label.value_or("");
  explanation.node = node;
  explanation.version = situation.version;
  return explanation;
}

}  // namespace

Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source) {
  Result<Pod> pod = parser.parse_pod(dump_json(source.pod));
  if (pod && pod->name_space.empty()) pod->name_space = source.name_space;
  return pod;
}

std::string title_of(const PodTemplate& source) {
  return source.object + (source.object.empty() || source.path.empty() ? "" : " ") + source.path;
}

Result<std::string> node_of(const Pod& pod, const Situation& situation) {
  if (!pod.node_name.empty()) return std::string(pod.node_name);
  if (!situation.node.empty()) return situation.node;
  if (situation.tables.empty()) return std::string();
  const auto only = program::choose_table(situation.tables, "");
  if (!only) return only.error();
  return (*only)->name;
}

Explanation preview_pod(const Pod& pod, const std::string& node, const Situation& situation) {
  if (!situation.policy) return without_policy(node, situation);
  const PodClaims claims = situation.claims.of(pod);
  const Plan plan = within_patch_bounds(pod, plan_pod(pod, *situation.policy, situation.plan, &claims));
  ExplainInput input{pod, plan, node, nullptr, nullptr, situation.version, &claims};
  if (situation.tables.empty()) return explain(input);
  const auto found =
      std::ranges::find_if(situation.tables, [&](const auto& table) { return table->name == node; });
  input.table = found == situation.tables.end() ? nullptr : found->get();
  NodeContext context{situation.now};
  context.in_sync = situation.ages_count;
  context.max_table_age = situation.policy->max_table_age.value_or(context.max_table_age);
  const BindingPlan binding = plan_binding(situation.policy, node, input.table, context);
  input.binding = &binding;
  return explain(input);
}

}  // namespace nccl_env::cli
