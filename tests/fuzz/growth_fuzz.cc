// SPDX-License-Identifier: Apache-2.0
// A review of which one part is multiplied to as much as the server takes: whatever grows, what becomes of it
// is bounded. The input is short, the review is not: libFuzzer's -malloc_limit_mb and -timeout see to memory
// and time.
#include "support/growth.h"

#include "core/rich_reviews.h"
#include "fuzz/fuzz.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/pod/limits.h"

namespace nccl_env::fuzz::growth_fuzz {
namespace {

using tests::Growth;
using Json = nlohmann::json;

void check_patch(const Patch& patch, const AdmissionResponse& response) {
  require(patch.text.size() <= kMaxPatchBytes, "a patch has 256 KiB at most");
  require(!patch.too_large || patch.text.empty(), "one that is too large is none");
  if (!patch.text.empty())
    require(Json::parse(patch.text).size() <= kMaxPatchOperations, "a patch has 1000 operations at most");
  require(render_response(response).size() < (1u << 20), "a response is bounded");
}

void check_pod(const Review& review, const NcclPolicy& policy) {
  const PlanOptions options{Resolver{"registry.example/agent:1", "100m", "64Mi", "16Mi"}};
  const Plan plan = plan_pod(review.pod, policy, options);
  require(plan.warnings.size() <= 3, "three warnings at most");
  for (const std::string& warning : plan.warnings)
    require(warning.size() < 4096, "no warning holds as much as a stranger likes");
  const Patch patch = render_pod_patch(review.pod, plan, nullptr);
  AdmissionResponse response;
  response.uid = "u";
  response.patch = patch.text;
  response.warnings = plan.warnings;
  response.audit.emplace_back("status", plan.status);
  check_patch(patch, response);
}

void check_binding(const Review& review, const std::shared_ptr<const NcclPolicy>& policy) {
  static const NodeFabric table = tests::rails(8);
  if (!review.binding.excess.empty()) return;
  const BindingPlan plan = plan_binding(policy, review.binding.node, &table, {tests::kNow});
  if (!within_budget(review.binding, plan)) return;
  const Patch patch = render_binding_patch(review.binding, plan);
  AdmissionResponse response;
  response.patch = patch.text;
  check_patch(patch, response);
}

}  // namespace

// Three bytes choose part, policy and size; a review follows, or else the samples are taken.
FUZZ_TARGET(growth) {
  static ReviewParser parser;
  static const auto policies = tests::rich_policies();
  const unsigned part = take_byte(input) | take_byte(input) << 8;
  const unsigned choice = take_byte(input);
  Json document = Json::parse(input, nullptr, false);
  if (!document.is_structured())
    document = choice & 1 ? tests::rich_binding_review() : tests::rich_pod_review();
  const std::vector<Growth> growths = tests::growths_of(document);
  const Growth& growth = growths[part % growths.size()];
  constexpr std::size_t kSizes[] = {16u << 10, 256u << 10, 1u << 20, kMaxWholeReview - 4096,
                                    4u << 20,  8u << 20};
  std::string text = tests::grown(document, growth, kSizes[(choice >> 1) % std::size(kSizes)]);
  text.append(kJsonPadding, ' ');
  const auto review = parser.parse_review(std::string_view(text).substr(0, text.size() - kJsonPadding), true);
  if (review && review->create) {
    const auto& policy = policies[(choice >> 4) % policies.size()];
    if (review->kind == Review::Kind::Pod) check_pod(*review, *policy);
    if (review->kind == Review::Kind::Binding) check_binding(*review, policy);
  } else if (!review) {
    require(review.error().message.size() < 4096, "no error holds as much as a stranger likes");
  }
  parser.trim();
}

}  // namespace nccl_env::fuzz::growth_fuzz
