// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/patch.h"

#include <gtest/gtest.h>

#include "core/decide/decided.h"

namespace nccl_env::tests::patch_test {
namespace {

std::string decode(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(alphabet.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 255);
    }
  }
  return bytes;
}

TEST(Response, HoldsTheWholeAnswer) {
  AdmissionResponse response;
  response.uid = "u-1";
  response.patch = R"([{"op":"remove","path":"/a"}])";
  response.warnings = {"one", "two \"quoted\"\n"};
  response.audit = {{"decision", "inject"}, {"status", "{}"}};
  const Json json = Json::parse(render_response(response));
  EXPECT_EQ(json["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(json["kind"], "AdmissionReview");
  EXPECT_EQ(json["response"]["uid"], "u-1");
  EXPECT_EQ(json["response"]["allowed"], true);
  EXPECT_EQ(json["response"]["patchType"], "JSONPatch");
  EXPECT_EQ(decode(json["response"]["patch"]), response.patch);
  EXPECT_EQ(json["response"]["warnings"], (Json{"one", "two \"quoted\"?"}))
      << "nothing that steers a terminal";
  EXPECT_EQ(json["response"]["auditAnnotations"], (Json{{"decision", "inject"}, {"status", "{}"}}));
}

TEST(Response, HoldsNothingThatIsNotThere) {
  AdmissionResponse response;
  response.uid = "u";
  EXPECT_EQ(Json::parse(render_response(response))["response"], (Json{{"uid", "u"}, {"allowed", true}}));
  response.allowed = false;
  response.code = 403;
  response.message = "no table";
  const Json refusal = Json::parse(render_response(response))["response"];
  EXPECT_EQ(refusal["allowed"], false);
  EXPECT_EQ(refusal["status"]["code"], 403);
  EXPECT_EQ(refusal["status"]["message"], "no table");
}

TEST(Response, Base64OfEveryLength) {
  for (std::size_t length = 1; length < 70; ++length) {
    AdmissionResponse response;
    response.uid = "u";
    for (std::size_t i = 0; i < length; ++i) response.patch += static_cast<char>(i * 37 + length);
    const std::string encoded = Json::parse(render_response(response))["response"]["patch"];
    EXPECT_EQ(encoded.size() % 4, 0u);
    EXPECT_EQ(decode(encoded), response.patch) << length;
  }
}

NcclPolicy two_constants() {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::Host);
  policy.env = {{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

// Many entries of an earlier round of ours among two of the user's.
Json with_stale_entries(const NcclPolicy& policy, std::size_t count) {
  Json before = admit(pod({container("c")}), policy).pod;
  Json& env = before["spec"]["containers"][0]["env"];
  const Json secret{{"name", "TOKEN"},
                    {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k\"\u00e9"}}}}}};
  env.insert(env.begin(), secret);
  for (std::size_t i = 0; i < count; ++i) env.push_back(env_literal("NCCL_DEBUG", "INFO"));
  env.push_back(env_literal("MINE", "1"));
  return before;
}

TEST(PodPatch, ManyStaleEntriesAreWrittenAnewByOneOperation) {
  const NcclPolicy policy = two_constants();
  for (const std::size_t count : {16u, 17u, 3000u}) {
    const Admitted admitted = settled(with_stale_entries(policy, count), policy);
    const Json operations = Json::parse(admitted.patch);
    EXPECT_EQ(operations.size(), count > 16 ? 1u : count) << admitted.patch.substr(0, 200);
    // One of each of our entries, where they stood; the user's as they were.
    EXPECT_EQ(admitted.pod, with_stale_entries(policy, 0)) << count;
  }
  Json before = with_stale_entries(policy, 40);
  before["spec"]["containers"][0]["env"].erase(1);  // NCCL_DEBUG, our first
  const Json made = settled(before, policy).pod;
  const std::vector<std::string> found = names(made["spec"]["containers"][0]["env"]);
  EXPECT_EQ(found.size(), with_stale_entries(policy, 0)["spec"]["containers"][0]["env"].size());
  EXPECT_NE(std::find(found.begin(), found.end(), "NCCL_DEBUG"), found.end());
}

TEST(PodPatch, ManyStaleMountsAreWrittenAnewByOneOperation) {
  const Json first = admit(pod({container("c")}), two_constants()).pod;
  Json before = first;
  Json& mounts = before["spec"]["containers"][0]["volumeMounts"];
  mounts.insert(mounts.end(), 500, kConfMounts[0]);
  const Admitted again = admit(before, two_constants());
  EXPECT_EQ(Json::parse(again.patch).size(), 1u);
  EXPECT_EQ(again.pod, first);
}

TEST(PodPatch, TooManyOperationsAreNoPatch) {
  NcclPolicy policy = two_constants();
  policy.containers = ContainerScope::All;
  policy.hca.kind = HcaRule::Kind::Omit;
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  for (int i = 0; i < 6; ++i) policy.env["UCX_X" + std::to_string(i)] = "y";
  const auto patch_for = [&](std::size_t containers) {
    Json before = pod({});
    before["metadata"]["annotations"] = Json::object();
    for (std::size_t i = 0; i < containers; ++i)
      before["spec"]["containers"].push_back(container("c" + std::to_string(i), {env_literal("A", "1")}));
    return of_parsed(
        before, [&](const Pod& read) { return render_pod_patch(read, plan_pod(read, policy), nullptr); });
  };
  const std::size_t each = Json::parse(patch_for(1).text).size() - 1;  // the rest: the status
  ASSERT_GE(each, 8u);
  const std::size_t most = (kMaxPatchOperations - 1) / each;
  EXPECT_FALSE(patch_for(most).too_large);
  EXPECT_EQ(Json::parse(patch_for(most).text).size(), most * each + 1);
  EXPECT_TRUE(patch_for(most + 1).too_large);
  EXPECT_EQ(patch_for(most + 1).text, "");
}

TEST(PodPatch, ATooLongPatchIsNone) {
  NcclPolicy policy = two_constants();
  policy.containers = ContainerScope::All;
  policy.env["NCCL_NET_PLUGIN"] = std::string(1000, 'x');
  Json before = pod({});
  for (int i = 0; i < 256; ++i) before["spec"]["containers"].push_back(container("c" + std::to_string(i)));
  of_parsed(before, [&](const Pod& read) {
    const Patch patch = render_pod_patch(read, plan_pod(read, policy), nullptr);
    EXPECT_TRUE(patch.too_large);
    EXPECT_EQ(patch.text, "");
    const Plan answered = within_patch_bounds(read, plan_pod(read, policy));
    EXPECT_FALSE(answered.inject);
    EXPECT_EQ(answered.reason, Reason::BudgetExceeded);
    EXPECT_TRUE(answered.containers.empty());
  });
}

}  // namespace
}  // namespace nccl_env::tests::patch_test
