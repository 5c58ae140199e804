// SPDX-License-Identifier: Apache-2.0
// nccl-env uninstall --check: what is found in a cluster, and when the binding hook may go.
#include "cli/cli_cluster.h"

namespace nccl_env::uninstall_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nccl-env";
const std::string kReference = "metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']";

Json pod_with(const std::string& field_path) {
  return {{"metadata", {{"name", "p"}, {"namespace", "ml"}, {"resourceVersion", "1"}}},
          {"spec",
           {{"containers",
             {{{"name", "c"},
               {"env", {{{"name", "V"}, {"valueFrom", {{"fieldRef", {{"fieldPath", field_path}}}}}}}}}}}}}};
}

class Uninstall : public ClusterCli {
 protected:
  void SetUp() override {
    hooks({"pods.nccl-env.io", "binding.nccl-env.io"});
    put("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nccl-env",
        R"({"webhooks": [{"name": "policies.nccl-env.io"}]})");
    put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ncclpolicies.nccl-env.io", "{}");
    put("/api/v1/namespaces", R"({"metadata": {"resourceVersion": "1"}, "items":
        [{"metadata": {"name": "ml", "resourceVersion": "1"}}]})");
    pods(0);
  }
  void hooks(const std::vector<std::string>& names) {
    Json hooks = Json::array();
    for (const std::string& name : names) hooks.push_back({{"name", name}});
    put(kHooks, Json{{"webhooks", hooks}}.dump());
  }
  void pods(int count) {
    Json list{{"metadata", {{"resourceVersion", "1"}}}, {"items", Json::array()}};
    for (int i = 0; i < count; ++i) {
      list["items"].push_back(pod_with(kReference));
      list["items"].back()["metadata"]["name"] = "train-" + std::to_string(i);
    }
    put("/api/v1/pods", list.dump());
  }
  CliResult check(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"uninstall", "--check"});
    return ask(more);
  }
};

TEST_F(Uninstall, WhileNewPodsAreChangedItIsNotYet) {
  const CliResult result = check();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(StartsWith("not yet: new pods"), HasSubstr("1. next  remove the hook pods"),
                                HasSubstr("kubectl patch mutatingwebhookconfiguration"),
                                HasSubstr("hooks       pods.nccl-env.io, binding.nccl-env.io\n"),
                                HasSubstr("CRDs        ncclpolicies.nccl-env.io\n"),
                                HasSubstr("opted in    ml\n"), HasSubstr("waiting     0 pods\n")));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(requests().back(), "GET /api/v1/pods?fieldSelector=spec.nodeName%3D&limit=500");
}

TEST_F(Uninstall, PodsThatWaitAreCountedByNamespaceAndTheListIsBounded) {
  hooks({"binding.nccl-env.io"});
  pods(23);
  const CliResult result = check();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(StartsWith("not yet: 23 pods wait"), HasSubstr("1. done  "),
                                HasSubstr("2. next  wait until"), HasSubstr("  ml: train-0, train-1, "),
                                HasSubstr("train-9 and 13 more\n")));
  const Json json = Json::parse(check({"-o", "json"}).out);
  EXPECT_EQ(json["safe"], false);
  EXPECT_EQ(json["waiting"][0]["count"], 23);
  EXPECT_EQ(json["waiting"][0]["pods"].size(), 10u);
  EXPECT_EQ(json["steps"][0]["done"], true);
}

TEST_F(Uninstall, WithoutWaitingPodsTheBindingHookMayGo) {
  hooks({"binding.nccl-env.io"});
  const CliResult result = check();
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              AllOf(StartsWith("safe: the binding hook may be removed"),
                    HasSubstr("3. next  remove the other hooks\n           kubectl delete mutating")));
}

TEST_F(Uninstall, ABindingHookThatWentTooEarlyIsTold) {
  answers.erase("GET " + kHooks);
  pods(2);
  const CliResult result = check();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, StartsWith("the binding hook is gone too early: 2 pods"));
  pods(0);
  EXPECT_EQ(check().code, 0);
}

// Nothing may pass for safe because it could not be seen.
TEST_F(Uninstall, AMissingRightIsNoSafety) {
  hooks({});
  answers["GET /api/v1/pods"] = forbidden("pods is forbidden: cannot list");
  const CliResult result = check();
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("HTTP 403: pods is forbidden: cannot list\n"));
  EXPECT_EQ(ask({"uninstall"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::uninstall_test
