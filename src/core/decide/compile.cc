// SPDX-License-Identifier: Apache-2.0
#include "decide/compile.h"

#include <algorithm>

#include "decide/annotation_budget.h"
#include "decide/conf_delivery.h"
#include "decide/pod_planner.h"
#include "nccl_env/core/decide/status.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/catalogue.h"

namespace nccl_env {
namespace {

// Plans a pod of one container that decides nothing.
std::shared_ptr<const Given> give_all(const CompiledPolicy& compiled, const PodShape& shape) {
  Pod pod;
  pod.host_network = shape.host_network;
  pod.containers.emplace_back();
  PodMatch match;
  match.exposure = shape.exposure;
  match.in_scope = {true};
  Plan plan;
  PodPlanner(pod, compiled, std::nullopt, match, plan).run();
  auto given = std::make_shared<Given>();
  given->plan = std::move(plan.containers.front());
  given->plan.missing_mounts.clear();
  given->entries = env_entries(given->plan);
  given->words = status_words(given->plan);
  given->volume = std::move(plan.volume.item);
  return given;
}

}  // namespace

CompiledPolicy compile(const NcclPolicy& policy) {
  const auto is_of_engine = [](const Value& wish) { return has_engine_prefix(wish.name); };
  CompiledPolicy made{.policy = policy, .reserve = binding_reserve(policy)};
  for (std::size_t i = 0; i < made.shapes.size(); ++i) {
    const PodShape& shape = pod_shapes()[i];
    ShapeWishes& into = made.shapes[i];
    into.wishes = make_wishes(policy, shape.exposure, shape.host_network, Finder::Node);
    leave_out_engines(policy, into.wishes);
    into.file = file_lines(into.wishes, false);
    into.status = status_head(policy, shape.exposure);
    if (std::all_of(into.wishes.begin(), into.wishes.end(), is_of_engine)) into.given = give_all(made, shape);
  }
  return made;
}

}  // namespace nccl_env
