// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/limits.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "core/builders.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/pod/review.h"
#include "support/matchers.h"

namespace nccl_env::tests::limits_test {
namespace {

using Json = nlohmann::json;

Json review_of(const Json& object, const std::string& sub_resource = "") {
  Json review = Json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
    "uid":"u1","namespace":"ml","name":"p","operation":"CREATE","resource":{"group":"","resource":"pods"}}})");
  if (!sub_resource.empty()) review["request"]["subResource"] = sub_resource;
  review["request"]["object"] = object;
  return review;
}

Json list_of(std::size_t count, const Json& item) {
  return Json::array_t(count, item);
}

// The first limit that the pod or Binding exceeds; "" for none.
std::string excess_in(const Json& review) {
  ReviewParser parser;
  const std::string text = review.dump();
  const auto read = parser.parse_review(text);
  if (!read) return "error: " + read.error().message;
  return read->kind == Review::Kind::Pod ? read->pod.excess : read->binding.excess;
}

// The parts that are lists: where they stand, and an entry.
const std::map<Part, std::pair<const char*, Json>> kLists{
    {Part::EnvEntries, {"/spec/containers/0/env", {{"name", "A"}, {"value", "1"}}}},
    {Part::EnvSources, {"/spec/containers/0/envFrom", Json::object()}},
    {Part::Mounts, {"/spec/containers/0/volumeMounts", {{"name", "v"}, {"mountPath", "/v"}}}},
    {Part::Volumes, {"/spec/volumes", {{"name", "v"}}}},
    {Part::Claims, {"/spec/resourceClaims", {{"name", "c"}}}},
    {Part::ClaimUses, {"/spec/containers/0/resources/claims", {{"name", "c"}}}},
    {Part::Words, {"/spec/containers/0/args", "NCCL_DEBUG"}}};
// Those that are maps: where they stand, how a key begins, and a value.
const std::map<Part, std::array<const char*, 3>> kMaps{
    {Part::Annotations, {"/metadata/annotations", "a", ""}},
    {Part::Labels, {"/metadata/labels", "a", ""}},
    {Part::OwnKeys, {"/metadata/annotations", "nccl-env.io/a", ""}},
    {Part::Resources, {"/spec/containers/0/resources/limits", "a/", "1"}}};

// A pod that uses `count` of one limit, and little of the others.
Json pod_with(Part part, std::size_t count) {
  Json pod{{"metadata", {{"name", "p"}}}, {"spec", {{"containers", {{{"name", "c"}}}}}}};
  if (part == Part::AnnotationBytes) {
    pod["metadata"]["annotations"]["a"] = std::string(count - 1, 'x');
  } else if (part == Part::Containers) {
    pod["spec"]["containers"] = list_of(count / 2, {{"name", "c"}});
    pod["spec"]["initContainers"] = list_of(count - count / 2, {{"name", "i"}});
  } else if (const auto list = kLists.find(part); list != kLists.end()) {
    pod[Json::json_pointer(list->second.first)] = list_of(count, list->second.second);
  } else {
    const auto& [at, prefix, value] = kMaps.at(part);
    Json& map = pod[Json::json_pointer(at)];
    for (std::size_t i = 0; i < count; ++i) map[prefix + std::to_string(i)] = value;
  }
  return pod;
}

TEST(Limits, EachIsReachedAndNotExceeded) {
  for (const Limit& limit : kLimits) {
    EXPECT_EQ(excess_in(review_of(pod_with(limit.part, limit.most))), "") << limit.name;
    EXPECT_EQ(excess_in(review_of(pod_with(limit.part, limit.most + 1))),
              "It has more than " + std::string(limit.name) + ".");
    EXPECT_TRUE(std::string(limit.name).starts_with(std::to_string(limit.most) + " "));
  }
}

// Each entry is compared with the names before it.
TEST(Limits, AResourceCountsEachTimeThatItStands) {
  std::string limits;
  for (int i = 0; i < 1025; ++i) limits += (limits.empty() ? "" : ",") + std::string(R"("a/0":"1")");
  Json pod = pod_with(Part::Containers, 2);
  pod["spec"]["containers"][0]["resources"]["limits"] = "LIMITS";
  std::string text = review_of(pod).dump();
  text.replace(text.find("\"LIMITS\""), 8, "{" + limits + "}");
  ReviewParser parser;
  const auto read = parser.parse_review(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->pod.excess, "It has more than 1024 entries of extended resources.");
}

TEST(Limits, KeysOfOursAreNotComparedWithAllOthers) {
  EXPECT_THAT(excess_in(review_of(pod_with(Part::OwnKeys, 40000))), HasSubstr("more than"));
  Json binding{{"target", {{"name", "node-a"}}}};
  binding["metadata"] = pod_with(Part::OwnKeys, 65)["metadata"];
  EXPECT_THAT(excess_in(review_of(binding, "binding")),
              HasSubstr("64 labels and annotations of nccl-env.io"));
}

TEST(Limits, ANodesNameIsCheckedBeforeAnythingKeepsIt) {
  for (const std::string& name : {std::string(254, 'a'), std::string(2900000, 'a'), std::string("a b"),
                                  std::string("Node"), std::string("../a")}) {
    Json pod = pod_with(Part::Containers, 2);
    pod["spec"]["nodeName"] = name;
    EXPECT_NE(excess_in(review_of(pod)), "") << name.size();
    const Json binding{{"target", {{"name", name}}}};
    EXPECT_NE(excess_in(review_of(binding, "binding")), "") << name.size();
  }
  const Json binding{{"target", {{"name", "gpu-0.example.com"}}}};
  EXPECT_EQ(excess_in(review_of(binding, "binding")), "");
}

TEST(Limits, NamesAndPathsHaveALength) {
  Json pod = pod_with(Part::Mounts, 1);
  Json& container = pod["spec"]["containers"][0];
  container["name"] = std::string(253, 'a');
  container["volumeMounts"][0]["mountPath"] = std::string(4096, 'a');
  EXPECT_EQ(excess_in(review_of(pod)), "");
  container["volumeMounts"][0]["mountPath"] = std::string(4097, 'a');
  EXPECT_EQ(excess_in(review_of(pod)), "It holds a name or path of more than 4096 bytes.");
  container["name"] = std::string(254, 'a');
  EXPECT_EQ(excess_in(review_of(pod)), "It holds a name or path of more than 253 bytes.");
}

TEST(Limits, BeyondThemOnlyNamesAreRead) {
  ReviewParser parser;
  Json object = pod_with(Part::Containers, 257);
  object["metadata"]["uid"] = "u7";
  object["metadata"]["annotations"]["a"] = "b";
  const std::string text = review_of(object).dump();
  const auto review = parser.parse_review(text);
  ASSERT_TRUE(review) << review.error().message;
  EXPECT_EQ(review->uid, "u1");
  EXPECT_EQ(review->pod.name, "p");
  EXPECT_EQ(review->pod.uid, "u7");
  EXPECT_EQ(review->pod.name_space, "ml");
  EXPECT_THAT(review->pod.containers, IsEmpty());
  EXPECT_THAT(review->pod.annotations, IsEmpty());
}

TEST(Limits, APodBeyondThemIsLeftAlone) {
  ReviewParser parser;
  const std::string text = pod_with(Part::EnvEntries, 4097).dump();
  const auto pod = parser.parse_pod(text);
  ASSERT_TRUE(pod);
  NcclPolicy policy = policy_for("*");
  policy.containers = ContainerScope::All;
  const Plan plan = plan_pod(*pod, policy);
  EXPECT_FALSE(plan.inject);
  EXPECT_EQ(plan.reason, Reason::BudgetExceeded);
  EXPECT_EQ(plan.detail, "It has more than 4096 env entries.");
}

TEST(Limits, AReviewThatNoEtcdTakesIsReadWithoutItsObject) {
  Json object = pod_with(Part::Containers, 2);
  object["spec"]["what"] = std::string(kMaxWholeReview, 'x');
  EXPECT_EQ(excess_in(review_of(object)), "It is larger than 1.5 MiB.");
  Json review = review_of(Json::object());
  review["request"]["oldObject"] = object;
  review["request"]["options"] = object;
  EXPECT_EQ(excess_in(review), "It is larger than 1.5 MiB.");
  review = review_of(Json::object());
  review["request"]["userInfo"] = object;
  EXPECT_EQ(excess_in(review), "error: the document is larger than 1.5 MiB, and not because of its object");
  EXPECT_THAT(excess_in(Json{{"request", std::string(kMaxWholeReview, 'x')}}), HasSubstr("error: "));
}

TEST(Limits, ObjectsAreFoundWhateverTheyHold) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"a":{"object":1},"request":{"uid":"\"object\":{","object":{"b":"}\"]","c":[{}]},"x":1}})",
       R"({"a":{"object":1},"request":{"uid":"\"object\":{","object":null,"x":1}})"},
      {R"({"request":{"oldObject":null,"object":"}","options":[1,[2]]},"object":{}})",
       R"({"request":{"oldObject":null,"object":null,"options":null},"object":{}})"},
      {R"({"request":{"x":{"object":{}}},"y":{"object":{}}})",
       R"({"request":{"x":{"object":{}}},"y":{"object":{}}})"},
      {R"({"request":{"object":{)", ""},
      {R"({"request":{"object":]}})", ""},
      {R"({"a":")", ""}};
  for (const auto& [review, rest] : rows) EXPECT_EQ(without_objects(review), rest) << review;
}

TEST(Limits, ErrorsHoldTheBeginningOfAKey) {
  Json object = pod_with(Part::Containers, 2);
  object["metadata"]["annotations"][std::string(319, 'a') + "\u00e9" + std::string(100000, 'b')] = 7;
  EXPECT_EQ(excess_in(review_of(object)),
            "error: request.object.metadata.annotations." + std::string(319, 'a') + ": must be a string");
}

}  // namespace
}  // namespace nccl_env::tests::limits_test
