// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>

#include "cli/asked_cluster.h"

namespace nccl_env::bug_report_test {
namespace {

using namespace nccl_env::tests;

class BugReport : public AskedCluster {
 protected:
  BugReport() {
    serve_fabric();
    serve_pods();
  }

  void serve_fabric() {
    const Json of_node = object_of(kTable), of_policy = object_of(kPolicy);
    serve("/apis/nccl-env.io/v1alpha1/nodefabrics?limit=500", list({of_node}));
    serve("/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1", of_node);
    serve("/apis/nccl-env.io/v1alpha1/ncclpolicies?limit=500", list({of_policy}));
    serve(kPolicyPath, of_policy);
  }
  void serve_pods() {
    const Json space{{"metadata",
                      {{"name", "ml"},
                       {"resourceVersion", "1"},
                       {"labels", {{"nccl-env.io/policy", "p"}, {"cost-center", "4711-secret"}}}}}};
    serve("/api/v1/namespaces?labelSelector=nccl-env.io%2Fpolicy&limit=500", list({space}));
    serve("/api/v1/namespaces/ml", space);
    Json given = given_pod("train-0", "gpu-1", "=mlx5_0,mlx5_1");
    Json& container = given["spec"]["containers"][0];
    container["image"] = "registry.example/secret-project";
    container["command"] = {"run", "--token=secret"};
    container["env"].push_back({{"name", "API_TOKEN"}, {"value", "secret"}});
    container["env"].push_back({{"name", "NCCL_DEBUG"}, {"value", "INFO"}});
    container["env"].push_back({{"name", "NCCL_SOCKET_IFNAME"},
                                {"valueFrom", {{"secretKeyRef", {{"name", "secret-of"}, {"key", "k"}}}}}});
    given["metadata"]["annotations"]["secret.example/note"] = "x";
    given["metadata"]["managedFields"] = Json::array({{{"manager", "secret"}}});
    given["status"]["containerStatuses"] = Json::array(
        {{{"name", "c"}, {"lastState", {{"terminated", {{"exitCode", 1}, {"message", "secret"}}}}}}});
    serve("/api/v1/namespaces/ml/pods/train-0", given);
    Json missed = Json::parse(kPod);
    missed["metadata"] = {{"name", "missed"}, {"namespace", "ml"}, {"resourceVersion", "1"}};
    serve(
        "/api/v1/namespaces/ml/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&"
        "limit=500",
        list({given, missed}));
    for (const std::string& selector : kSelectors) serve(selector, list());
    serve(kSelectors[1], list({given, missed}));
  }

  [[nodiscard]] CliResult report(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"bug-report", "-o", file});
    return ask(more);
  }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const std::string file = path("report.jsonl");
};

TEST_F(BugReport, HoldsTheFindingsOfItsCommandsOnce) {
  ASSERT_EQ(report({"pod/train-0", "-n", "ml"}).code, 0);
  const std::string kept = text();
  const std::size_t at = kept.rfind(R"({"findings":)");
  ASSERT_NE(at, kept.npos);
  const Json findings = Json::parse(kept.substr(at, kept.find('\n', at) - at))["findings"];
  const Json missed = Json::parse(run({"doctor", "--pods", "-o", "json"}).out)["findings"];
  EXPECT_FALSE(missed.empty());
  for (const Json& each : missed) EXPECT_EQ(std::ranges::count(findings, each), 1) << findings;
}

TEST_F(BugReport, AMissingRightIsPartOfIt) {
  serve_none("/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1");
  serve_none("/api/v1/namespaces/ml/pods/gone");
  expect_shown(report({"pod/train-0", "pod/gone"}), 1);
}

TEST_F(BugReport, HoldsWhatNcclEnvReadsAndNothingElse) {
  const CliResult made = report({"pod/train-0"});
  expect_shown(made);
  EXPECT_THAT(text(), AllOf(HasSubstr("NCCL_DEBUG"), HasSubstr("25.11.128.2"), Not(HasSubstr("secret")),
                            Not(HasSubstr("API_TOKEN")), Not(HasSubstr("managedFields"))));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(BugReport, TellsHowTheInstallationRuns) {
  const Json config{{"service", {{"namespace", "own"}, {"name", "nccl-env-webhook"}}},
                    {"caBundle", "c2VjcmV0"}};
  serve("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nccl-env",
        {{"webhooks", Json::array({{{"name", "pods.nccl-env.io"}, {"clientConfig", config}}})}});
  const Json container{{"name", "webhook"},
                       {"image", "registry.example/team/nccl-env-webhook:0.1.0"},
                       {"args", Json::array({"--store=kubernetes"})},
                       {"env", Json::array({{{"name", "PASSWORD"}, {"value", "secret"}}})}};
  serve("/apis/apps/v1/namespaces/own/deployments/nccl-env-webhook",
        {{"spec", {{"template", {{"spec", {{"containers", Json::array({container})}}}}}}}});
  const Json replica{{"metadata", {{"name", "nccl-env-webhook-1"}, {"resourceVersion", "1"}}}};
  serve("/api/v1/namespaces/own/pods?limit=500", list({replica}));
  ASSERT_EQ(report().code, 0);
  EXPECT_THAT(text(), AllOf(HasSubstr("\"caBundle\":\"(set)\""), HasSubstr("\"nccl-env-webhook:0.1.0\""),
                            HasSubstr("--store=kubernetes"), Not(HasSubstr("registry.example")),
                            Not(HasSubstr("secret"))));
}

TEST_F(BugReport, WithoutAnAnswerThereIsNone) {
  const CliResult made =
      run_cli({"bug-report", "-o", file, "--kubeconfig", write("empty", R"({"contexts":[]})")});
  EXPECT_EQ(made.code, 4);
  EXPECT_THAT(made.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(ask({"bug-report", "-o", path("no/such/folder/x")}).code, 4);
}

}  // namespace
}  // namespace nccl_env::bug_report_test
