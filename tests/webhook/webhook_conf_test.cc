// SPDX-License-Identifier: Apache-2.0
// nccl.conf through the webhook itself: options, answers.
#include "support/places.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_conf_test {
namespace {

using namespace nccl_env::tests;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class WebhookConf : public WebhookTest {
 protected:
  void SetUp() override {
    store("node-a.yaml", table_yaml());
    store("namespace.yaml", namespace_yaml());
  }
};

TEST_F(WebhookConf, ContainerStartHasTheInitContainersOptions) {
  store("policy.yaml", policy_yaml());
  start({"--resolver-image", "registry.example/agent:1", "--resolver-cpu", "50m", "--resolver-memory", "32Mi",
         "--resolver-ephemeral-storage", "8Mi"});
  EXPECT_THAT(
      log("--resolver-image names no digest: what pods get is what the tag points to when they start"),
      SizeIs(1));
  Json review = pod_review();
  review["request"]["object"]["spec"].erase("hostNetwork");
  review["request"]["object"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1";
  const Reply reply = post("/admit", review.dump());
  const Json pod = patched(review, reply.json()["response"]);
  const Json& resolver = pod["spec"]["initContainers"][0];
  EXPECT_EQ(resolver["image"], "registry.example/agent:1");
  EXPECT_EQ(resolver["resources"]["limits"],
            (Json{{"cpu", "50m"}, {"memory", "32Mi"}, {"ephemeral-storage", "8Mi"}}));
  EXPECT_EQ(metric(R"(nccl_env_variables_total{variable="nccl.conf",reason="none"})"), 1);
}

TEST_F(WebhookConf, ABindingBringsTheTextThatThePodReads) {
  store("policy.yaml", policy_yaml("  delivery: [File]\n"));
  start();
  const Json pod = patched(pod_review(), admit(pod_review()));
  const std::string path = pod["spec"]["volumes"][0]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"];
  const Json bound = patched(binding_review(), admit(binding_review()));
  const std::string key = path.substr(22, path.size() - 24);  // metadata.annotations['KEY']
  EXPECT_EQ(bound["metadata"]["annotations"][key],
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n");
}

TEST_F(WebhookConf, ADenyHoldsAPodThatReadsByFileAlone) {
  store("policy.yaml", policy_yaml("  delivery: [File]\n  onUnresolved: Deny\n"));
  start();
  Json ours = patched(pod_review(), admit(pod_review()));
  ours["metadata"]["uid"] = "pod-uid";
  std::filesystem::create_directories(path("store/pods/ml"));
  store("pods/ml/p.json", ours.dump());
  const Json answer = admit(binding_review("node-b"));
  EXPECT_EQ(answer["allowed"], false);
  EXPECT_THAT(answer["status"]["message"].get<std::string>(), HasSubstr("NoTable"));
}

}  // namespace
}  // namespace nccl_env::webhook_conf_test
