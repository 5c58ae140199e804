// SPDX-License-Identifier: Apache-2.0
// Reviews of policies that nobody means well with.
#include "policy_review.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "nccl_env/base/yaml.h"

namespace nccl_env::webhook::policy_review_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string review_of(const std::string& object) {
  return R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "v", "object": )" +
         object + "}}";
}

std::string repeated(const std::string& part, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + part.size());
  while (text.size() < bytes) text += part;
  return text;
}

std::string refusal(const std::string& text) {
  const auto answer = answer_policy_review(text, {});
  return answer ? "answered " + *answer : answer.error().message;
}

TEST(PolicyReview, NestingIsRefusedWithoutACopyOfTheTree) {
  const std::string arrays(30'000, '[');
  EXPECT_THAT(refusal(arrays), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(refusal(review_of(arrays)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(refusal(review_of(arrays + std::string(30'000, ']'))),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(refusal(review_of(repeated("{\"\":", 120'000))), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("more than 32768 values"));
}

TEST(PolicyReview, AKeyThatStandsTwiceIsRefused) {
  EXPECT_THAT(refusal(R"({"kind": "AdmissionReview", "kind": "Pod"})"), HasSubstr("stands twice"));
}

TEST(PolicyReview, WhatIsNotAReviewIsRefused) {
  for (const char* text : {"", "null", "[]", "1", R"({"kind": "AdmissionReview"})",
                           R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"})"})
    EXPECT_FALSE(answer_policy_review(text, {})) << text;
  EXPECT_THAT(
      refusal(R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": 7}})"),
      HasSubstr("request.uid"));
}

TEST(PolicyReview, ObjectsOfOtherKindsAreAllowed) {
  for (const char* object : {"null", "[]", R"({"kind": "Pod"})"}) {
    const auto answer = answer_policy_review(review_of(object), {});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(Json::parse(*answer)["response"]["allowed"], true);
  }
}

TEST(PolicyReview, AsManyValuesAsNoPolicyHasAreRefused) {
  const auto review = [](std::size_t items) {
    std::string list = "0";
    for (std::size_t i = 1; i < items; ++i) list += ",{}";
    return review_of(R"({"kind": "NcclPolicy", "metadata": {"name": "p"}, "spec": [)" + list + "]}");
  };
  EXPECT_TRUE(answer_policy_review(review(kMaxPolicyValues / 2 - 100), {}));
  const auto answer = answer_policy_review(review(kMaxPolicyValues / 2 + 100), {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "holds more than 32768 values, or commas");
}

double cpu_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Each unknown field was compared with all that are known, also after the last finding that is kept: ten
// times what it takes to parse them.
TEST(PolicyReview, UnknownFieldsCostLessThanTheirParsingOnceTheFindingsAreFull) {
  std::string fields;
  for (int i = 0; i < 30'000; ++i) fields += ",\"no field of any policy " + std::to_string(i) + "\":1";
  const std::string text = review_of(
      R"({"kind": "NcclPolicy", "apiVersion": "nccl-env.io/v1alpha1", "metadata": {"name": "p"},
          "spec": {"match": {"hostDevices": true})" +
      fields + "}}");
  ASSERT_LE(text.size(), kMaxPolicyReview);
  const auto answer = answer_policy_review(text, {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(*answer, HasSubstr("more findings are not shown"));
  EXPECT_LT(answer->size(), 64u << 10);
  // The quickest of three: the machine has others.
  double answered = 1e9, parsed = 1e9;
  for (int i = 0; i < 3; ++i) {
    answered = std::min(answered, cpu_seconds([&] { EXPECT_TRUE(answer_policy_review(text, {})); }));
    parsed = std::min(parsed, cpu_seconds([&] { EXPECT_TRUE(parse_documents(text, "x.json")); }));
  }
  EXPECT_LT(answered, 3 * parsed);
  RecordProperty("cpu_microseconds", static_cast<int>(answered * 1e6));
}

}  // namespace
}  // namespace nccl_env::webhook::policy_review_test
