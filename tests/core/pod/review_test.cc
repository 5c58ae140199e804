// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/review.h"

#include <gtest/gtest.h>

#include <random>

#include "core/builders.h"
#include "core/pod/review_oracle.h"
#include "core/recorded.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "support/leaves.h"

namespace nccl_env::tests::review_test {
namespace {

std::string review_of(const std::string& object, const std::string& resource = "pods") {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","namespace":"ml",)"
         R"("resource":{"group":"","version":"v1","resource":")" +
         resource + R"("},"object":)" + object + "}}";
}

std::string error_of(const std::string& text) {
  ReviewParser parser;
  const auto review = parser.parse_review(text);
  return review ? "accepted" : review.error().message;
}

TEST(Review, RecordedPodsReadAsTheOracleReadsThem) {
  ReviewParser parser;
  for (const auto& [name, text] : recorded("pod-create-")) {
    const auto review = parser.parse_review(text);
    ASSERT_TRUE(review) << name << ": " << review.error().message;
    EXPECT_EQ(review->kind, Review::Kind::Pod);
    EXPECT_TRUE(review->create);
    EXPECT_EQ(review->name_space, "ml");
    EXPECT_EQ(sorted(summary(review->pod)), sorted(oracle_summary(Json::parse(text)["request"]["object"])))
        << name;
    ASSERT_EQ(review->pod.containers.size(), 1u);
    EXPECT_EQ(review->pod.containers[0].resources,
              (std::vector<std::string_view>{"nvidia.com/gpu", "rdma/hca"}));
  }
}

TEST(Review, RecordedBindings) {
  ReviewParser parser;
  for (const auto& [name, text] : recorded("binding-")) {
    const auto review = parser.parse_review(text);
    ASSERT_TRUE(review) << name << ": " << review.error().message;
    EXPECT_EQ(review->kind, Review::Kind::Binding) << name;
    EXPECT_TRUE(review->binding.node.starts_with("node-")) << name;
    EXPECT_EQ(review->binding.pod_uid, Json::parse(text)["request"]["object"]["metadata"].value("uid", ""))
        << name;
  }
}

TEST(Review, OtherResourcesAndOperationsAreNotOurBusiness) {
  ReviewParser parser;
  const auto other = parser.parse_review(review_of(R"({"spec":7})", "configmaps"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->kind, Review::Kind::Other);
  std::string update = review_of(R"({"spec":7})");
  update.replace(update.find("CREATE"), 6, "UPDATE");
  const auto updated = parser.parse_review(update);
  ASSERT_TRUE(updated);
  EXPECT_FALSE(updated->create);
}

TEST(Review, ErrorsNameThePath) {
  const std::pair<std::string, const char*> rows[] = {
      {R"({"spec":{"containers":[{"name":"c"},{"env":[{"name":1}]}]}})",
       ".spec.containers[1].env[0].name: must be a string"},
      {R"({"spec":{"containers":{}}})", ".spec.containers: must be a list"},
      {R"({"metadata":{"annotations":{"a":1}}})", ".metadata.annotations.a: must be a string"},
      {"7", ": must be an object"},
      {"null", ": must be an object"},
      {R"({"spec":{"containers":[]},"spec":{}})", ".spec: stands twice"},
      {R"({"metadata":{"annotations":{"nccl-env.io/inject":"true","nccl-env.io/inject":"false"}}})",
       ".metadata.annotations.nccl-env.io/inject: stands twice"}};
  for (const auto& [object, error] : rows)
    EXPECT_EQ(error_of(review_of(object)), std::string("request.object") + error) << object;
  EXPECT_EQ(error_of(review_of("{}", "bindings")), "request.object.target.name: must name a node");
  EXPECT_EQ(error_of(R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}})"),
            "apiVersion: must be admission.k8s.io/v1");
  EXPECT_EQ(error_of("{"), error_of("[1,2"));
}

TEST(Review, NullIsAbsent) {
  ReviewParser parser;
  const auto review = parser.parse_review(review_of(
      R"({"metadata":{"name":null,"annotations":null},"spec":{"initContainers":null,"containers":[{"name":"c","env":null,"resources":null}]}})"));
  ASSERT_TRUE(review) << review.error().message;
  EXPECT_FALSE(review->pod.has_annotations);
  EXPECT_FALSE(review->pod.containers[0].has_env);
}

TEST(Review, TooDeepAndTooLargeAreRefused) {
  EXPECT_NE(error_of(std::string(100000, '[')), "accepted");
  EXPECT_EQ(error_of(std::string(kMaxReviewBytes + 1, ' ')), "the document is larger than 8 MiB");
}

// Replaces one value by another kind: what hostile and broken clients send.
void mutate(Json& document, std::mt19937& random) {
  static const Json kReplacements[] = {
      nullptr, 0, -1.5, true, "", "x", "0", "a\"\\\n\u00e9", std::string(2000, 'y')};
  some_leaf(document, random) = kReplacements[random() % std::size(kReplacements)];
}

NcclPolicy everything() {
  NcclPolicy policy = policy_for("*", Exposure::Host);
  policy.containers = ContainerScope::All;
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

TEST(Review, EveryReviewThatIsReadIsDecidedAndItsPatchApplies) {
  std::mt19937 random(20260101);
  ReviewParser parser;
  const NcclPolicy policy = everything();
  int read = 0;
  for (const auto& [name, text] : recorded("pod-create-")) {
    Json document = Json::parse(text);
    for (int i = 0; i < 400; ++i) {
      if (i % 5 == 0) document = Json::parse(text);
      mutate(document, random);
      const std::string mutated = document.dump();
      const auto review = parser.parse_review(mutated);
      if (!review || review->kind != Review::Kind::Pod || !review->create) continue;
      if (!review->pod.excess.empty()) continue;  // a node's name that none can have
      ++read;
      const Json object = document["request"]["object"];
      ASSERT_EQ(sorted(summary(review->pod)), sorted(oracle_summary(object))) << mutated;
      const Plan plan = plan_pod(review->pod, policy);
      const std::string patch = render_pod_patch(review->pod, plan, nullptr).text;
      if (patch.empty()) continue;
      const Json after = object.patch(Json::parse(patch));
      // Once more: nothing to do. And what the user wrote stands as it stood, before what we added.
      ReviewParser again_parser;
      const std::string again_text = after.dump();
      const auto again = again_parser.parse_pod(again_text);
      ASSERT_TRUE(again) << again.error().message;
      ASSERT_EQ(render_pod_patch(*again, plan_pod(*again, policy), nullptr).text, "") << mutated << "\n"
                                                                                      << patch;
      for (const char* list : {"initContainers", "containers"}) {
        const Json before_list = child(object["spec"], list);
        for (std::size_t c = 0; c < before_list.size(); ++c) {
          const Json before_env = child(before_list[c], "env");
          const Json& after_env = after["spec"][list][c]["env"];
          for (std::size_t e = 0; e < before_env.size(); ++e) ASSERT_EQ(after_env[e], before_env[e]);
          for (std::size_t e = before_env.size(); e < after_env.size(); ++e) {
            ASSERT_TRUE(after_env[e].contains("valueFrom") ||
                        !after_env[e]["value"].get<std::string>().empty());
          }
        }
      }
    }
  }
  EXPECT_GT(read, 500);
}

// What is read, or why nothing is.
std::string reading_of(const std::string& text) {
  ReviewParser parser;
  const auto review = parser.parse_review(text);
  return review ? std::string(review->uid) + sorted(summary(review->pod)).dump() : review.error().message;
}

constexpr std::string_view kBegin = "\"managedFields\":[";

// The same text to a parser, and another to a search.
std::string respelt(std::string text) {
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != text.npos;)
    text.replace(at, kBegin.size(), "\"managed\\u0046ields\":[");
  return text;
}

// Items of managedFields, of which some only look like its end, and some are not JSON.
std::string random_items(std::mt19937& random) {
  const std::string pieces[] = {R"({"f:spec":{"k:{\"name\":\"c\"}":{".":{}}}})",
                                R"("]},\"spec\":{")",
                                R"({"a":[1,2],"b":[]})",
                                R"([[{"managedFields":[7]},"spec"]])",
                                R"({"managedFields":["x"]})",
                                R"(]},"spec":{)",
                                R"(]},"spec":{"hostNetwork":true},"rest":{"managedFields":[)",
                                R"(]})",
                                R"([)",
                                R"(")",
                                R"("\\")"};
  std::string items = "\"" + std::string(600, 'x') + "\"";
  for (auto count = random() % 4; count > 0; --count) {
    const std::string& piece = pieces[random() % std::size(pieces)];
    items = random() % 2 == 0 ? piece + "," + items : items + "," + piece;
  }
  return items;
}

TEST(Review, WhatStandsInManagedFieldsChangesNothing) {
  constexpr std::string_view kEnd = "]},\"spec\":{";
  // As the API server writes it: in this order, without blanks.
  const std::string text =
      nlohmann::ordered_json::parse(recorded("pod-create-job-indexed").begin()->second).dump();
  const std::size_t begin = text.find(kBegin) + kBegin.size(), end = text.find(kEnd, begin);
  ASSERT_TRUE(begin < end && end < text.size());
  const std::string before = text.substr(0, begin), after = text.substr(end);
  std::mt19937 random(1);
  int valid = 0, invalid = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string items = random_items(random);
    const std::string whole = before + items + after;
    const std::string read = reading_of(whole);
    if (read == reading_of(respelt(whole))) {
      ++valid;
      continue;
    }
    // A list that is not JSON may pass, and then as if it were empty.
    ASSERT_FALSE(Json::accept(whole)) << items;
    ASSERT_EQ(read, reading_of(respelt(before + whole.substr(whole.find(']', begin))))) << items;
    ++invalid;
  }
  EXPECT_GT(valid, 1000);
  EXPECT_GT(invalid, 10) << "nothing was left out";
  for (std::size_t size = end; size < end + kEnd.size(); ++size)
    EXPECT_EQ(reading_of(text.substr(0, size)), reading_of("{")) << size;
}

TEST(Review, EqualTemplatesMutateEqually) {
  ReviewParser parser;
  const NcclPolicy policy = everything();
  const std::string text = recorded("pod-create-deployment").begin()->second;
  const auto patch_of = [&](const std::string& review_text) {
    const auto review = parser.parse_review(review_text);
    return render_pod_patch(review->pod, plan_pod(review->pod, policy), nullptr).text;
  };
  Json other = Json::parse(text);
  other["request"]["uid"] = "another";
  other["request"]["object"]["metadata"]["name"] = "dep-5968b456b8-x7k2p";
  other["request"]["userInfo"]["username"] = "someone";
  EXPECT_NE(patch_of(text), "");
  EXPECT_EQ(patch_of(text), patch_of(other.dump()));
}

}  // namespace
}  // namespace nccl_env::tests::review_test
