// SPDX-License-Identifier: Apache-2.0
#include "policy_conditions.h"

#include <sstream>

#include "core/builders.h"
#include "support/matchers.h"
#include "webhook/api_objects.h"
#include "webhook/reviews.h"

namespace nccl_env::webhook::policy_conditions_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kImage = "registry.example/nccl-env-agent@sha256:1";
const Timestamp kTime = parse_timestamp("2026-11-21T08:00:00Z").value();

Json policy(const Json& env = Json::object(), std::int64_t generation = 3) {
  return {{"metadata", {{"name", "p"}, {"uid", "u"}, {"generation", generation}}},
          {"spec", {{"match", {{"resources", {{{"name", "rdma/hca"}}}}}}, {"env", env}}}};
}

// The condition of the status that is missing.
std::optional<Json> missing_condition(const Json& policy, const PolicyOptions& options, Timestamp now) {
  const auto status = missing_status(policy, {options, 3h, kImage}, now);
  return status ? std::optional((*status)["conditions"][0]) : std::nullopt;
}

TEST(MissingCondition, SaysThatAPolicyIsInUse) {
  const auto condition = missing_condition(policy(), {}, kTime);
  ASSERT_TRUE(condition);
  EXPECT_EQ(*condition, Json::parse(R"({"type": "Accepted", "status": "True", "reason": "Accepted",
    "message": "In use.", "observedGeneration": 3, "lastTransitionTime": "2026-11-21T08:00:00Z"})"));
}

TEST(MissingCondition, SaysWhyOneIsRefusedAndWhatItWarnsOf) {
  const Json refused =
      missing_condition(policy({{"NCCL_IB_RETRY_CNT", "10"}, {"NCCL_IB_HCA", "x"}}), {}, kTime).value();
  EXPECT_EQ(refused["status"], "False");
  EXPECT_EQ(refused["reason"], "PolicyInvalid");
  EXPECT_THAT(
      refused["message"].get<std::string>(),
      AllOf(HasSubstr("spec.env.NCCL_IB_RETRY_CNT: "), HasSubstr("; "), HasSubstr("spec.env.NCCL_IB_HCA: ")));
  const Json odd = missing_condition(policy({{"NCCL_NO_SUCH_THING", "1"}}), {}, kTime).value();
  EXPECT_EQ(odd["status"], "True");
  EXPECT_THAT(odd["message"].get<std::string>(),
              AllOf(HasSubstr("In use, with warnings: "), HasSubstr("NCCL_NO_SUCH_THING")));
}

TEST(MissingCondition, NothingIsMissingWhereItIs) {
  Json whole = policy();
  whole["status"]["conditions"] = {{{"type", "Other"}, {"status", "True"}},
                                   *missing_condition(policy(), {}, kTime)};
  whole["status"]["maxTableAgeSeconds"] = 3 * 3600;
  whole["status"]["carrier"] = "File";
  whole["status"]["resolverImage"] = kImage;
  EXPECT_EQ(missing_condition(whole, {}, kTime + 1h), std::nullopt);
  const auto older = missing_status(whole, {{}, 6h, kImage}, kTime + 1h);
  ASSERT_TRUE(older);
  EXPECT_EQ((*older)["maxTableAgeSeconds"], 6 * 3600);
  EXPECT_EQ((*older)["resolverImage"], kImage);
  EXPECT_FALSE(missing_status(whole, {{}, 3h, ""}, kTime + 1h)->contains("resolverImage")) << "switched off";
  EXPECT_EQ((*older)["conditions"][0]["lastTransitionTime"], "2026-11-21T08:00:00Z");
}

TEST(MissingCondition, TheTransitionTimeMovesWithTheStatusOnly) {
  Json whole = policy();
  whole["status"]["conditions"] = Json::array({*missing_condition(policy(), {}, kTime)});
  whole["metadata"]["generation"] = 4;
  const auto edited = missing_condition(whole, {}, kTime + 1h);
  ASSERT_TRUE(edited);
  EXPECT_EQ((*edited)["observedGeneration"], 4);
  EXPECT_EQ((*edited)["lastTransitionTime"], "2026-11-21T08:00:00Z");
  whole["spec"]["env"]["NCCL_IB_RETRY_CNT"] = "10";
  EXPECT_EQ((*missing_condition(whole, {}, kTime + 1h))["lastTransitionTime"], "2026-11-21T09:00:00Z");
}

TEST(MissingCondition, AMessageHasAnEnd) {
  Json env = Json::object();
  for (int i = 0; i < 60; ++i)
    env["NCCL_IB_" + std::to_string(i) + "_" + std::string(100, 'X')] = "\xc3\xbc\x01";
  const auto condition = missing_condition(policy(env), {}, kTime);
  ASSERT_TRUE(condition);
  const auto message = (*condition)["message"].get<std::string>();
  EXPECT_LE(message.size(), 4096u);
  EXPECT_TRUE(message.ends_with(" ...")) << message;
  EXPECT_NO_THROW(condition->dump());
}

TEST(MissingCondition, OddObjectsGetAConditionToo) {
  for (const char* text :
       {"{}", R"({"metadata": 7})", R"({"metadata": {"name": "p", "generation": "x"}, "spec": []})",
        R"({"status": []})", R"({"status": {"conditions": {"a": 1}}})",
        R"({"status": {"conditions": [7, {"type": "Accepted"}]}})"}) {
    const auto condition = missing_condition(Json::parse(text), {}, kTime);
    ASSERT_TRUE(condition) << text;
    EXPECT_EQ((*condition)["status"], "False") << text;
  }
}

Json by_env_file(std::int64_t generation = 3) {
  Json object = policy(Json::object(), generation);
  object["spec"]["delivery"] = {"EnvFile"};
  return object;
}

// The status that follows where the cluster's answer is written.
Json settled(const Json& policy, const PolicyOptions& options, bool kept) {
  Json status = missing_status(policy, {options, 3h, kImage}, kTime).value();
  if (status["carrier"] == kToBeAsked) settle_carrier(status, kept);
  Json whole = policy;
  whole["status"] = status;
  return whole;
}

TEST(Carrier, IsAskedForOncePerGenerationAndSwitch) {
  const PolicyOptions file, env_file{false, Carrier::EnvFile};
  for (const bool kept : {true, false}) {
    const std::string word = kept ? "EnvFile" : std::string(kUnavailable);
    const Json whole = settled(by_env_file(), file, kept);
    EXPECT_EQ(whole["status"]["carrier"], word);
    EXPECT_EQ(missing_status(whole, {file, 3h, kImage}, kTime), std::nullopt);
    EXPECT_EQ(missing_status(whole, {env_file, 3h, kImage}, kTime), std::nullopt)
        << "the policy says it itself";
    Json edited = whole;
    edited["metadata"]["generation"] = 4;
    EXPECT_EQ((*missing_status(edited, {file, 3h, kImage}, kTime))["carrier"], kToBeAsked);

    const Json silent = settled(policy(), file, kept);
    EXPECT_EQ(silent["status"]["carrier"], "File");
    EXPECT_EQ((*missing_status(silent, {env_file, 3h, kImage}, kTime))["carrier"], kToBeAsked)
        << "a new --carrier";
    const Json switched = settled(silent, env_file, kept);
    EXPECT_EQ(switched["status"]["carrier"], word);
    EXPECT_EQ(missing_status(switched, {env_file, 3h, kImage}, kTime), std::nullopt);
    EXPECT_EQ((*missing_status(switched, {file, 3h, kImage}, kTime))["carrier"], "File") << "and back";
  }
}

TEST(Carrier, TheConditionSaysThatFileTakesItsPlaceAndWhatThatLeavesOut) {
  const std::string in_use = "In use. This cluster has no fileKeyRef: EnvFile is File here.";
  EXPECT_EQ(settled(by_env_file(), {}, false)["status"]["conditions"][0]["message"], in_use);
  Json policy = by_env_file();
  policy["spec"]["engines"] = {"NCCL", "UCX", "Gloo"};
  Json whole = settled(policy, {}, false);
  const Installation with{{}, 3h, kImage};
  whole["status"] = missing_status(whole, with, kTime).value();
  EXPECT_EQ(whole["status"]["conditions"][0]["message"],
            in_use + " EnginesUnavailable: Gloo get constants alone.");
  EXPECT_EQ(missing_status(whole, with, kTime), std::nullopt);
}

// The pods of such a policy have File, so the cluster is not asked; an image asks it.
TEST(Carrier, IsFileWhereNothingCouldWriteTheFile) {
  const Installation without{{}, 3h, ""}, with{{}, 3h, kImage};
  for (const bool kept : {true, false}) {
    const Json whole = settled(by_env_file(), {}, kept);
    Json bare = whole;
    bare["status"] = missing_status(whole, without, kTime).value();
    EXPECT_EQ(bare["status"]["carrier"], "File");
    EXPECT_EQ(bare["status"]["conditions"][0]["message"],
              "In use. The webhook has no --resolver-image: EnvFile is File here.");
    EXPECT_EQ(missing_status(bare, without, kTime), std::nullopt);
    EXPECT_EQ((*missing_status(bare, with, kTime))["carrier"], kToBeAsked);
  }
}

// Until the answer stands in the status, and where it is no, EnvFile is File for everybody who reads the
// policy.
TEST(Carrier, IsReadFromTheStatusOfALivingPolicy) {
  Json living = by_env_file();
  living["apiVersion"] = "nccl-env.io/v1alpha1";
  living["kind"] = "NcclPolicy";
  EXPECT_TRUE(parse_policy(living, {})->deliver_env_file) << "a file, where nothing is recorded";
  living["metadata"]["resourceVersion"] = "7";
  EXPECT_FALSE(parse_policy(living, {})->deliver_env_file);
  living["status"]["carrier"] = kUnavailable;
  EXPECT_FALSE(parse_policy(living, {})->deliver_env_file);
  living["status"]["carrier"] = "EnvFile";
  EXPECT_TRUE(parse_policy(living, {})->deliver_env_file);
  living["spec"].erase("delivery");
  EXPECT_TRUE(parse_policy(living, {})->deliver_env_file);
  living["spec"]["delivery"] = {"File"};
  EXPECT_FALSE(parse_policy(living, {})->deliver_env_file) << "the policy's own word counts";
  living["spec"].erase("delivery");
  living["status"]["carrier"] = "File";
  EXPECT_FALSE(parse_policy(living, PolicyOptions{false, Carrier::EnvFile})->deliver_env_file);
  living.erase("status");
  living["metadata"].erase("resourceVersion");
  EXPECT_TRUE(parse_policy(living, PolicyOptions{false, Carrier::EnvFile})->deliver_env_file);
}

class PolicyConditionsTest : public ::testing::Test {
 protected:
  ApiObjects api;
  std::ostringstream log;
  int work = 0;
  Timestamp time = kTime;
  PolicyConditions::SteadyTime now{1h};
  Result<kube::EnvFiles> env_files = kube::EnvFiles{true, {}};
  int looks = 0;
  PolicyConditions conditions{[this](const kube::Call& call) { return api(call); },
                              [this] { return ++looks, env_files; },
                              {{}, 3h, kImage},
                              [this] { return time; },
                              [this] { ++work; },
                              Logger::to_stream(log, LogLevel::Info)};
  const std::string path = kube::path_of(kube::kPolicies, "p") + "/status";

  // The cluster has this policy, and the watch says so.
  void set(const Json& object) {
    api.put(path, object);
    event();
  }
  void event() { conditions.upsert(api.objects.at(path)); }
  Json accepted() { return api.objects.at(path)["status"]["conditions"][0]; }
  void refuse() {
    api.instead = [](const kube::Call&) {
      return std::optional(Result<kube::Reply>(kube::Reply{500, "{}"}));
    };
  }
};

TEST_F(PolicyConditionsTest, AreWrittenOnceUnderAFieldManagerOfTheirOwn) {
  set(policy());
  EXPECT_EQ(work, 1);
  const Json seen = api.objects.at(path)["metadata"]["resourceVersion"];
  EXPECT_GT(conditions.write(now), 0s);
  ASSERT_THAT(api.calls, SizeIs(1));
  EXPECT_EQ(api.calls[0].target, path + "?force=true&fieldManager=nccl-env-webhook");
  EXPECT_EQ(api.calls[0].content_type, "application/apply-patch+yaml");
  const Json body = Json::parse(api.calls[0].body);
  EXPECT_EQ(body["metadata"], (Json{{"name", "p"}, {"uid", "u"}, {"resourceVersion", seen}}))
      << "of a deleted one nothing is made, and no other replica's count is lost";
  EXPECT_FALSE(body.contains("spec"));
  EXPECT_EQ(accepted()["status"], "True");
  event();
  EXPECT_EQ(conditions.write(now + 1h), 1min);
  EXPECT_THAT(api.calls, SizeIs(1));
  EXPECT_EQ(work, 1);
  EXPECT_EQ(conditions.stats().written, 1u);
}

TEST_F(PolicyConditionsTest, TheClusterIsAskedAgainWhereItGaveNoAnswer) {
  env_files = Error{"no route"};
  set(by_env_file());
  EXPECT_EQ(conditions.write(now), 1s);
  EXPECT_THAT(api.calls, IsEmpty());
  EXPECT_EQ(conditions.stats().failed, 1u);
  env_files = kube::EnvFiles{true, {}};
  conditions.write(now + 1s);
  ASSERT_THAT(api.calls, SizeIs(1));
  EXPECT_EQ(Json::parse(api.calls[0].body)["status"]["carrier"], "EnvFile");
  event();
  conditions.write(now + 1h);
  EXPECT_EQ(looks, 2);
  set(policy());
  conditions.write(now + 2h);
  EXPECT_EQ(looks, 2) << "nobody asks for File";
}

TEST_F(PolicyConditionsTest, FailuresAreTriedAgainEverMoreSlowly) {
  refuse();
  set(policy());
  EXPECT_EQ(conditions.write(now), 1s);
  EXPECT_EQ(conditions.write(now + 500ms), 500ms);
  EXPECT_THAT(api.calls, SizeIs(1));
  EXPECT_EQ(conditions.write(now += 1s), 2s);
  EXPECT_EQ(conditions.write(now += 2s), 4s);
  for (const auto end = now + 5h; now < end;) now += conditions.write(now);
  EXPECT_EQ(conditions.stats().failed, 3u + 8 + 28) << "in the end each ten minutes";
  api.instead = nullptr;
  Json edited = policy({{"NCCL_IB_RETRY_CNT", "10"}}, 4);
  edited["status"]["conditions"] = Json::array({*missing_condition(policy(), {}, kTime)});
  time += 60s;
  set(edited);  // begins anew
  conditions.write(now);
  EXPECT_EQ(accepted()["status"], "False");
  EXPECT_EQ(accepted()["observedGeneration"], 4);
  EXPECT_EQ(accepted()["lastTransitionTime"], "2026-11-21T08:01:00Z");
}

// A release before or after this one may see it otherwise.
TEST_F(PolicyConditionsTest, AFightWithSomebodyElseIsASlowOne) {
  set(policy());
  for (const auto end = now + 1h; now < end;) {
    now += conditions.write(now);
    Json other = api.objects.at(path);
    other["status"]["conditions"][0]["message"] = "I think otherwise.";
    set(other);
  }
  EXPECT_LE(api.calls.size(), 16u);
}

TEST_F(PolicyConditionsTest, AnEventDuringTheWriteCounts) {
  set(policy());
  api.before = [&](const kube::Call&) {
    api.before = nullptr;
    set(policy({{"NCCL_IB_RETRY_CNT", "10"}}, 3));
  };
  conditions.write(now);
  EXPECT_FALSE(api.objects.at(path).contains("status")) << "of what was seen before";
  EXPECT_EQ(conditions.stats().failed, 0u) << "somebody else was faster";
  conditions.write(now + 1s);
  EXPECT_EQ(accepted()["status"], "False");
}

TEST_F(PolicyConditionsTest, DeletedPoliciesAreForgotten) {
  refuse();
  set(policy());
  conditions.write(now);
  conditions.remove(policy());
  EXPECT_EQ(conditions.write(now + 1h), 1min);
  set(policy());
  conditions.begin_list();
  Json other = policy();
  other["metadata"]["name"] = "other";
  conditions.list_item(other);
  conditions.complete_list();
  api.calls.clear();
  conditions.write(now + 2h);
  ASSERT_THAT(api.calls, SizeIs(1));
  EXPECT_THAT(api.calls[0].target, HasSubstr("/other/status"));
}

// A pod of policy p that waits for its node's values, and nodes without a table.
class PodsWithoutValues : public PolicyConditionsTest {
 protected:
  PodsWithoutValues() {
    NcclPolicy of_p = tests::policy_for("rdma/hca", Exposure::SubInterface);
    of_p.name = "p";
    snapshot_.policies["p"] = {std::make_shared<const NcclPolicy>(of_p), {}};
    snapshot_.opted_in["ml"] = "p";
    snapshot_.tables.put(pack(tests::rails(2)));
    set(policy());
    conditions.write(now);
    event();
  }

  Json answer(const Json& review, PolicyConditions* to) {
    auto answered = std::get<Answered>(admission_.answer(snapshot_, review.dump(), false));
    if (to != nullptr) to->note(answered.record);
    return Json::parse(answered.response)["response"];
  }
  // `bound`: the node that the API server says the pod is on.
  void bind(const std::string& name, const std::string& node, const std::string& bound, bool dry_run = false,
            PolicyConditions* to = nullptr) {
    Json create = tests::pod_review(), binding = tests::binding_review(node);
    Json pod = tests::patched(create, answer(create, nullptr));
    pod["spec"]["nodeName"] = bound;
    api.put("/api/v1/namespaces/ml/pods/" + name, pod);
    binding["request"]["name"] = binding["request"]["object"]["metadata"]["name"] = name;
    binding["request"]["dryRun"] = dry_run;
    answer(binding, to != nullptr ? to : &conditions);
  }
  // The next time that conditions are written, and what they say then.
  Json later(std::chrono::seconds step = 61s) {
    now += step;
    time += step;
    conditions.write(now);
    event();
    const Json& status = api.objects.at(path)["status"];
    Json told = status["conditions"].size() < 2 ? Json() : status["conditions"][1];
    if (status.contains("podsWithoutValues")) told["count"] = status["podsWithoutValues"]["count"];
    return told;
  }

 private:
  Snapshot snapshot_;
  Admission admission_{{3h, [] { return kTime; }, {}, {}, {}, {}}};
};

TEST_F(PodsWithoutValues, AreCountedWithTheLastReason) {
  EXPECT_EQ(later(), nullptr) << "none yet";
  bind("p-0", "node-b", "node-b");
  bind("p-1", "node-c", "node-c");
  const Json told = later();
  EXPECT_EQ(told["type"], "PodsWithoutValues");
  EXPECT_EQ(told["status"], "True");
  EXPECT_EQ(told["reason"], "NoTable");
  EXPECT_EQ(told["count"], 2);
  EXPECT_THAT(
      told["message"].get<std::string>(),
      AllOf(HasSubstr("2 pods got a node without what they wait for; the last was ml/p-1 on node-c. "),
            HasSubstr(std::string(remedy(Reason::NoTable)))));
  bind("p-2", "node-b", "node-b");
  EXPECT_EQ(later()["count"], 3);
  EXPECT_EQ(later()["lastTransitionTime"], told["lastTransitionTime"]);
  EXPECT_EQ(accepted()["status"], "True");
  EXPECT_THAT(api.calls, SizeIs(3)) << "no write where nothing is new";
}

TEST_F(PodsWithoutValues, AreThoseThatAreBoundThereAndWait) {
  bind("good", "node-a", "node-a");
  bind("forged", "node-b", "node-a");
  bind("tried", "node-b", "node-b", true);
  bind("gone", "node-b", "node-b");
  api.objects.erase("/api/v1/namespaces/ml/pods/gone");
  bind("web", "node-b", "node-b");
  api.put(
      "/api/v1/namespaces/ml/pods/web",
      {{"metadata", {{"name", "web"}}}, {"spec", {{"nodeName", "node-b"}, {"containers", Json::array()}}}});
  EXPECT_EQ(later(), nullptr);
}

// Each call to a server that is away waits for its deadline, and other policies wait for their conditions.
TEST_F(PodsWithoutValues, AreNotReadWithoutTheRightNorWhileTheServerIsAway) {
  int reads = 0;
  Result<kube::Reply> answered = kube::Reply{403, "{}"};
  api.instead = [&](const kube::Call& call) {
    const bool pod = call.target.find("/pods/") != std::string::npos;
    reads += pod ? 1 : 0;
    return pod ? std::optional(answered) : std::nullopt;
  };
  for (const int round : {1, 2}) {
    for (const char* name : {"p-0", "p-1", "p-2"}) bind(name, "node-b", "node-b");
    EXPECT_EQ(later(), nullptr);
    EXPECT_EQ(reads, round);
    answered = Error{"connection refused"};
  }
  api.instead = {};
  bind("p-3", "node-b", "node-b");
  EXPECT_EQ(later()["count"], 1) << "back again";
}

TEST_F(PodsWithoutValues, AreForgottenAfterAnHourAndWithAnEdit) {
  bind("p-0", "node-b", "node-b");
  EXPECT_EQ(later()["status"], "True");
  EXPECT_EQ(later(59min)["status"], "True");
  const Json quiet = later();
  EXPECT_EQ(quiet["status"], "False");
  EXPECT_EQ(quiet["reason"], "NoneLately");
  EXPECT_EQ(quiet["count"], 0);
  bind("p-1", "node-b", "node-b");
  EXPECT_EQ(later()["count"], 1);
  Json edited = api.objects.at(path);
  edited["metadata"]["generation"] = 4;
  set(edited);
  EXPECT_EQ(later()["count"], 1);
  bind("p-2", "node-b", "node-b");
  EXPECT_EQ(later()["count"], 1) << "of the new generation";
}

TEST_F(PodsWithoutValues, OfAllReplicasAreAdded) {
  PolicyConditions second{[this](const kube::Call& call) { return api(call); },
                          [this] { return env_files; },
                          {{}, 3h, kImage},
                          [this] { return time; },
                          [] {},
                          Logger::to_stream(log, LogLevel::Info)};
  second.upsert(api.objects.at(path));
  bind("p-0", "node-b", "node-b");
  bind("p-1", "node-c", "node-c", false, &second);
  EXPECT_EQ(later()["count"], 1);
  second.write(now);  // of what it saw before the first one wrote
  second.upsert(api.objects.at(path));
  EXPECT_EQ(later()["count"], 1);
  second.write(now);
  EXPECT_EQ(later()["count"], 2);
  EXPECT_EQ(second.stats().failed, 0u);
}

}  // namespace
}  // namespace nccl_env::webhook::policy_conditions_test
