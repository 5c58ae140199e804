// SPDX-License-Identifier: Apache-2.0
// Texts that stood on a pod before its Binding do not outlive it.
#include "nccl_env/core/decide/binding.h"

#include <gmock/gmock.h>

#include "core/builders.h"
#include "core/conf_pods.h"
#include "core/pods.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/status.h"

namespace nccl_env::tests::binding_test {
namespace {

using ::testing::IsSubsetOf;

// The keys that a pod of ours reads, by env or by file.
std::vector<std::string> keys_read(const Json& pod) {
  std::vector<std::string> keys;
  const auto add = [&](const Json& object) {
    const Json::json_pointer place("/fieldRef/fieldPath");
    if (object.contains(place))
      keys.emplace_back(annotation_of(object.at(place).get_ref<const std::string&>()));
  };
  for (const Json& entry : pod["spec"]["containers"][0].value("env", Json::array()))
    add(entry.value("valueFrom", Json::object()));
  for (const Json& volume : pod["spec"].value("volumes", Json::array())) {
    for (const Json& item : volume.value("downwardAPI", Json::object()).value("items", Json::array()))
      add(item);
  }
  return keys;
}

std::vector<std::string> keys_of(const BindingPlan& plan) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : plan.annotations) keys.push_back(key);
  return keys;
}

TEST(BindingPlan, HasEveryKeyThatAReferenceCanName) {
  NcclPolicy nothing = policy_for("rdma/*");
  nothing.hca.kind = HcaRule::Kind::Omit;
  nothing.gid_index.kind = GidIndexRule::Kind::Omit;
  const BindingPlan without = plan_binding(std::make_shared<const NcclPolicy>(nothing), "n", nullptr, {kNow});
  const BindingPlan empty = plan_empty_binding("n", Reason::PolicyMissing);
  EXPECT_EQ(keys_of(empty), keys_of(without));
  std::set<std::string> all;
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    for (const bool host_network : {true, false}) {
      for (const auto gid : {GidIndexRule::Kind::Auto, GidIndexRule::Kind::Dynamic}) {
        NcclPolicy policy = file_policy(exposure, true);
        policy.gid_index.kind = gid;
        policy.partition_key = 0x8001;
        policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
        Json before = pod({container("c")}, host_network);
        before["spec"]["containers"][0]["command"] = {"sshd"};  // reads constants by file, too
        for (const char* backend : {"CUDA", "NVSHMEM"}) {
          before["spec"]["containers"][0]["env"] = Json::array({env_literal("TORCH_SYMMMEM", backend)});
          const auto read = keys_read(admit(before, policy).pod);
          EXPECT_THAT(read, IsSubsetOf(keys_of(empty)));
          all.insert(read.begin(), read.end());
        }
      }
    }
  }
  EXPECT_EQ(all.size() + 1, empty.annotations.size()) << "and none but these, and the node's own";
}

TEST(BindingPlan, WhatStoodOnAPendingPodGoesWithTheBinding) {
  Json pending = admit(pod({container("c")}), policy_for("rdma/*", Exposure::Host)).pod;
  for (const auto& [key, value] : plan_empty_binding("n", Reason::DryRun).annotations)
    pending["metadata"]["annotations"][key] = "somebody's";
  const BindingPlan plan = plan_binding(
      std::make_shared<const NcclPolicy>(policy_for("rdma/*", Exposure::Host)), "n", nullptr, {kNow});
  const Json bound = bind_to_node(pending, plan);
  EXPECT_EQ(bound.dump().find("somebody's"), std::string::npos);
  for (const auto& [name, value] : environment(bound, 0)) EXPECT_EQ(value, "") << name;
}

TEST(BindingPlan, WithoutAPolicyItSaysWhy) {
  const BindingPlan plan = plan_empty_binding("node-a", Reason::PolicyMissing);
  EXPECT_EQ(plan.annotations.at("nccl-env.io/node"), R"({"v":1,"node":"node-a","reason":"PolicyMissing"})");
  for (const auto& [key, value] : plan.annotations)
    EXPECT_EQ(value.empty(), key != "nccl-env.io/node") << key;
}

// Names of constants that differ from node to node are the policy's own.
TEST(BindingPlan, WithoutAPolicyItEmptiesTheConstantsThatThePodReads) {
  NcclPolicy policy = by_reference(policy_for("rdma/*", Exposure::Host));
  policy.variants.emplace_back().env["NCCL_IB_TC"] = "106";
  const Json waiting = admit(pod({container("c")}), policy).pod;
  const std::string text = waiting.dump();
  ReviewParser parser;
  const BindingPlan plan = plan_empty_binding("n", Reason::PolicyMissing, *parser.parse_pod(text));
  EXPECT_THAT(keys_read(waiting), ::testing::Contains("constant.nccl-env.io/NCCL_IB_TC"));
  EXPECT_THAT(keys_read(waiting), IsSubsetOf(keys_of(plan)));
  EXPECT_EQ(plan.annotations.at("constant.nccl-env.io/NCCL_IB_TC"), "");
}

TEST(BindingPlan, APodWaitsByItsEnvOrItsFile) {
  const auto waits = [](const Json& pod) {
    const std::string text = pod.dump();
    ReviewParser parser;
    return waits_for_binding(*parser.parse_pod(text));
  };
  const Json bare = pod({container("c")}, false);
  EXPECT_FALSE(waits(bare));
  EXPECT_TRUE(waits(admit(bare, policy_for("rdma/*", Exposure::Host)).pod));
  EXPECT_TRUE(waits(admit(bare, by_reference(policy_for("rdma/*", Exposure::Host))).pod));
  EXPECT_FALSE(waits(admit(bare, file_policy(Exposure::PodOwned)).pod)) << "constants stand in env";
  Json with_sshd = bare;
  with_sshd["spec"]["containers"][0]["command"] = {"/usr/sbin/sshd", "-De"};
  EXPECT_TRUE(waits(admit(with_sshd, file_policy(Exposure::PodOwned)).pod)) << "its file has the constants";
}

TEST(BindingPlan, ThePolicyOfAStatus) {
  const auto named = [](const std::string& status) {
    Json object = pod({container("c")});
    object["metadata"]["annotations"]["nccl-env.io/status"] = status;
    const std::string text = object.dump();
    ReviewParser parser;
    return promised_policy(*parser.parse_pod(text));
  };
  EXPECT_EQ(named(R"({"v":1,"policy":"p"})"), "p");
  for (const std::string text : {"", "{", "7", "[]", R"({"policy":7})"}) EXPECT_EQ(named(text), "") << text;
  EXPECT_EQ(named(R"({"policy":"p"})" + std::string(70 << 10, ' ')), "");
}

// The pods of one manifest that had been exported with another node's values.
TEST(CopiedPod, LosesOurAnnotationsWhateverBecomesOfIt) {
  const NcclPolicy policy = policy_for("rdma/*", Exposure::Host);
  NcclPolicy dry = policy;
  dry.mode = PolicyMode::DryRun;
  const NodeFabric table = rails(4);
  const Json exported =
      bind_to_node(admit(pod({container("c")}), policy).pod,
                   plan_binding(std::make_shared<const NcclPolicy>(policy), "n", &table, {kNow}));
  const auto copied = [&](const char* key, const char* value) {
    Json copy = exported;
    copy["metadata"]["annotations"]["mine"] = "stays";
    copy["metadata"]["annotations"][key] = value;
    return copy;
  };
  Json full = copied("mine", "stays");
  full["metadata"]["annotations"]["big"] = std::string((256u << 10) - 8000, 'x');
  const std::tuple<Json, NcclPolicy, Reason> cases[] = {
      {copied("mine", "stays"), dry, Reason::DryRun},
      {copied("nccl-env.io/inject", "false"), policy, Reason::OptedOut},
      {copied("nccl-env.io/inject", "?"), policy, Reason::InvalidInjectValue},
      {copied("mine", "stays"), policy_for("other/*"), Reason::NotRdma},
      {full, policy, Reason::BudgetExceeded}};
  for (const auto& [before, its_policy, reason] : cases) {
    const Admitted after = admit(before, its_policy);
    EXPECT_EQ(after.plan.reason, reason);
    EXPECT_EQ(after.pod["metadata"]["annotations"]["mine"], "stays");
    EXPECT_EQ(after.pod["spec"].dump().find("nccl-env"), std::string::npos) << after.pod["spec"];
    EXPECT_TRUE(after.pod["spec"]["containers"][0].value("env", Json::array()).empty());
    for (const auto& [key, value] : after.pod["metadata"]["annotations"].items())
      EXPECT_FALSE(is_own_key(key)) << to_string(reason) << ": " << key;
    EXPECT_EQ(admit(after.pod, its_policy).patch, "");
  }
  const Json mirror = copied("kubernetes.io/config.mirror", "x");
  EXPECT_EQ(admit(mirror, policy).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::binding_test
