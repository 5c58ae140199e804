// SPDX-License-Identifier: Apache-2.0
// Any bytes as an AdmissionReview: what simdjson accepts, nlohmann accepts and reads in the same way, but for
// what stands in managedFields; every patch applies, and changes nothing the second time.
#include <set>

#include "core/pod/review_oracle.h"
#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env::fuzz::review_fuzz {
namespace {

using tests::Json;

Json apply(const Json& object, const std::string& patch) {
  const Json operations = Json::parse(patch, nullptr, false);
  require(operations.is_array() && !operations.empty(), "a patch is a list of operations");
  return object.patch(operations);  // throws where it does not apply
}

// Kubernetes refuses a pod in which two containers or two volumes share a name, and what is ours is known by
// name.
bool names_are_unique(const Pod& pod, const Json& object) {
  std::set<std::string> names;
  for (const Container& container : pod.containers) names.emplace(container.name);
  const bool containers = names.size() == pod.containers.size();
  names.clear();
  for (const Json& volume : tests::child(tests::child(object, "spec"), "volumes"))
    names.insert(tests::text_of(volume, "name"));
  return containers && names.size() == pod.volume_count;
}

void check_plan(const Json& object, const Pod& pod, const std::shared_ptr<const NcclPolicy>& policy,
                const PlanOptions& options) {
  const Plan plan = plan_pod(pod, *policy, options);
  require(plan.inject || plan.reason, "what is not injected has a reason");
  const NodeFabric table = sample_table();
  const BindingPlan bound = plan_binding(policy, pod.node_name, &table, sample_context());
  const BindingPlan* binding = pod.node_name.empty() || !plan.inject ? nullptr : &bound;
  const std::string patch = render_pod_patch(pod, plan, binding).text;
  if (patch.empty()) return;
  const std::string after = apply(object, patch).dump();
  ReviewParser parser;
  const auto again = parser.parse_pod(after);
  require(again.ok(), "a patched pod can be read");
  if (!again->excess.empty()) return;  // the patch has brought it beyond a limit
  if (!names_are_unique(pod, object)) return;
  require(render_pod_patch(*again, plan_pod(*again, *policy, options), binding).text.empty(),
          "a second admission changes nothing");
}

void check_pod(const Json& object, const Review& review) {
  require(tests::sorted(tests::summary(review.pod)) == tests::sorted(tests::oracle_summary(object)),
          "simdjson and nlohmann read the same pod");
  for (const auto& policy : sample_policies()) {
    for (const PlanOptions& options : sample_options()) check_plan(object, review.pod, policy, options);
  }
}

void check_binding(const Json& object, const Review& review) {
  const Binding& binding = review.binding;
  const Json metadata = tests::child(object, "metadata");
  const bool has_metadata = metadata.is_object();
  require(binding.node == object.at("target").at("name").get<std::string>(), "the same node");
  require(binding.pod_uid == (has_metadata ? tests::text_of(metadata, "uid") : ""), "the same uid");
  const NodeFabric table = sample_table();
  for (const auto& policy : sample_policies()) {
    const BindingPlan plan = plan_binding(policy, binding.node, &table, sample_context());
    const std::string patch = render_binding_patch(binding, plan).text;
    if (patch.empty()) continue;
    const Json after = apply(object, patch);
    for (const auto& [key, value] : plan.annotations)
      require(after.at("metadata").at("annotations").at(key) == value, "a planned annotation is there");
  }
}

}  // namespace

FUZZ_TARGET(review) {
  static ReviewParser parser;
  const std::string padded = std::string(input) + std::string(kJsonPadding, '7');
  const auto review = parser.parse_review(std::string_view(padded).substr(0, input.size()), true);
  if (!review) return require(!review.error().message.empty(), "a refusal has a sentence");
  const Json document = Json::parse(input, nullptr, false);
  if (document.is_discarded())
    return require(input.find("\"managedFields\":[") != input.npos,
                   "what simdjson accepts, nlohmann accepts");
  const Json& request = document.at("request");
  require(review->uid == tests::text_of(request, "uid"), "the same uid");
  require(review->name_space == tests::text_of(request, "namespace"), "the same namespace");
  if (!review->create || review->kind == Review::Kind::Other) return;
  if (!review->pod.excess.empty() || !review->binding.excess.empty()) return;
  const Json& object = request.at("object");
  review->kind == Review::Kind::Pod ? check_pod(object, *review) : check_binding(object, *review);
}

}  // namespace nccl_env::fuzz::review_fuzz
