// SPDX-License-Identifier: Apache-2.0
// Any bytes as an AdmissionReview: refused, or answered with a document that a JSON parser takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nccl_env/core/decide.h"
#include "nccl_env/core/patch.h"
#include "nccl_env/core/policy.h"
#include "nccl_env/core/review.h"

namespace {

nccl_env::NcclPolicy matching_policy() {
  nccl_env::NcclPolicy policy;
  policy.name = "fuzz";
  policy.resources = {{"rdma/*", nccl_env::Exposure::Host}};
  policy.host_devices = true;
  policy.containers = nccl_env::ContainerScope::All;
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check_patch(const std::string& patch) {
  if (!patch.empty()) require(nlohmann::json::parse(patch, nullptr, false).is_array());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const nccl_env::NcclPolicy policy = matching_policy();
  static nccl_env::ReviewParser parser;

  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto review = parser.parse_review(bytes);
  if (!review) {
    require(!review.error().message.empty());
    return 0;
  }
  // What simdjson accepts, the oracle accepts.
  require(nlohmann::json::accept(bytes));
  if (review->kind == nccl_env::Review::Kind::Pod) {
    check_patch(render_pod_patch(review->pod, plan_pod(review->pod, policy), nullptr));
  } else {
    const auto plan = plan_binding(policy, review->binding.node, nullptr, {});
    check_patch(render_binding_patch(review->binding, plan));
  }
  return 0;
}
