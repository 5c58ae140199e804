// SPDX-License-Identifier: Apache-2.0
// nccl-env check: the installation as a cluster shows it, before and after.
#include "cli/asked_cluster.h"
#include "cli/installed_objects.h"

namespace nccl_env::installation_check_test {
namespace {

using namespace nccl_env::tests;

const std::string kReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

class InstallationCheck : public AskedCluster {
 protected:
  void SetUp() override {
    otherwise = refusal(404, "not found");
    for (const auto& [path, object] : installed_objects(std::chrono::system_clock::now()))
      serve(path, object);
  }
  CliResult check(std::vector<std::string> more = {}) {
    more.insert(more.begin(), "check");
    return ask(more);
  }
  static std::string reply(bool allowed) { return Json{{"status", {{"allowed", allowed}}}}.dump(); }
  static Json line(const Json& document, const std::string& check) {
    for (const Json& some : document["findings"]) {
      if (some["code"] == check) return some;
    }
    return nullptr;
  }
};

TEST_F(InstallationCheck, AHealthyInstallationIsSaidLineByLine) {
  expect_shown(check());
}

TEST_F(InstallationCheck, AFindingHasItsRemedyInTextAndJson) {
  answers.erase(kHooksPath);
  expect_part(check(), "Hooks", 1);
  const Json json = Json::parse(check({"-o", "json"}).out);
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(line(json, "Hooks")["severity"], "error");
  EXPECT_EQ(json["ok"][0].dump(), R"({"code":"ApiServer","sentence":"Kubernetes v1.36.3"})");
}

TEST_F(InstallationCheck, WithoutAnInstallationThereIsNothingToLookAt) {
  answers.clear();
  serve_text("/version", R"({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})");
  expect_shown(check(), 3);
}

TEST_F(InstallationCheck, AnInstallationElsewhereIsLookedForWhereItsHooksLead) {
  Json hooks = Json::parse(answers[kHooksPath].body);
  for (Json& hook : hooks["webhooks"]) hook["clientConfig"]["service"]["namespace"] = "fabric";
  serve(kHooksPath, hooks);
  Json agents = Json::parse(answers[kAgentSetPath].body);
  agents["metadata"]["namespace"] = "nodes";
  serve("/apis/apps/v1/daemonsets", list_of_items(Json::array({agents})));
  expect_shown(check(), 1);
}

// Whoever may make a DaemonSet of the agents' name in a namespace of their own is no installation.
TEST_F(InstallationCheck, ADaemonSetOfTheAgentsNameElsewhereDoesNotCount) {
  Json agents = Json::parse(answers[kAgentSetPath].body), other = agents;
  other["metadata"]["namespace"] = "zone";
  serve("/apis/apps/v1/daemonsets", list_of_items(Json::array({other, agents, other})));
  EXPECT_EQ(check().code, 0);
}

TEST_F(InstallationCheck, APodIsTriedInAnOptedInNamespace) {
  const Json space{{"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}};
  serve("/api/v1/namespaces", list_of_items(Json::array({space})));
  serve("/api/v1/namespaces/ml", space);
  serve(kPoliciesPath, list_of_items(Json::array({object_of(kPolicy)})));
  Json matching = object_of(kPolicy);
  for (const char* name : {"rdma/ib", "rdma/roce"})
    matching["spec"]["match"]["resources"].push_back({{"name", name}, {"exposure", "PodOwned"}});
  serve(kPolicyPath, matching);
  bool called = true;
  int tried = 0;
  instead = [&](const ScriptedRequest& request) -> std::optional<Answer> {
    if (request.method != "POST") return std::nullopt;
    ++tried;
    Json made = Json::parse(request.body);
    if (called)
      made["metadata"]["annotations"]["nccl-env.io/status"] =
          R"({"v":1,"containers":{"sample":{"set":{"NCCL_IB_HCA":"Node"}}}})";
    return Answer{201, made.dump()};
  };
  expect_part(check(), "Answers");
  EXPECT_EQ(tried, 1) << "one of two kinds of answer, of three resources";
  called = false;
  expect_part(check(), "Answers", 1);
  serve(kPolicyPath, object_of(kPolicy + "  mode: DryRun\n"));
  expect_part(check(), "Answers");
}

TEST_F(InstallationCheck, ANamespaceWhosePolicyIsNotThereIsNamed) {
  const auto space = [](const char* name, const char* followed) {
    return Json{{"metadata", {{"name", name}, {"labels", {{"nccl-env.io/policy", followed}}}}}};
  };
  Json matching = object_of(kPolicy);
  matching["metadata"]["name"] = "generic-rdma";
  serve(kPoliciesPath, list_of_items(Json::array({matching})));
  serve("/api/v1/namespaces", list_of_items(Json::array({space("typo", "generic-rmda")})));
  expect_part(check(), "Answers", 1);
  serve("/api/v1/namespaces", list_of_items(Json::array({space("ml", "generic-rdma")})));
  EXPECT_THAT(check().out, Not(HasSubstr("PolicyMissing")));
  answers[kPoliciesPath] = refusal(403, "ncclpolicies is forbidden");
  EXPECT_EQ(line(Json::parse(check({"-o", "json"}).out), "Answers")["severity"], "warning");
}

TEST_F(InstallationCheck, RightsThatAreGoneOrSomebodyElsesAreNamed) {
  answers.erase(kBindingsPath + "webhook");
  Json agents = Json::parse(answers[kBindingsPath + "agent"].body);
  agents["subjects"][0]["namespace"] = "nccl-env";
  serve(kBindingsPath + "agent", agents);
  expect_part(check(), "Rights", 1);
}

// A connection that the API server keeps would still answer.
TEST_F(InstallationCheck, NoPodIsTriedWhereTheWebhookCannotBeCalled) {
  serve("/api/v1/namespaces",
        list_of_items(
            Json::array({Json{{"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}}})));
  serve(kPoliciesPath, list_of_items(Json::array({object_of(kPolicy)})));
  answers.erase(kOwnPath + "services/nccl-env-webhook");
  expect_part(check(), "Answers", 1);
}

// A first look finds no replica ready, later ones do.
TEST_F(InstallationCheck, WaitLooksAgainUntilAllIsWell) {
  Json deployment = Json::parse(answers[kDeploymentPath].body);
  const std::string ready = deployment.dump();
  deployment["status"].erase("readyReplicas");
  int looks = 0;
  instead = [&](const ScriptedRequest& request) -> std::optional<Answer> {
    if (!request.target.starts_with(kDeploymentPath)) return std::nullopt;
    return Answer{200, ++looks == 1 ? deployment.dump() : ready};
  };
  expect_part(check({"--wait", "10m"}), "Webhook");
  EXPECT_EQ(looks, 2);
}

TEST_F(InstallationCheck, AWaitThatEndsSaysWhatIsStillWrong) {
  answers.erase(kHooksPath);
  EXPECT_EQ(check({"--wait", "1s"}).code, 1);
  EXPECT_EQ(check({"--wait", "2"}).code, 2) << "a number without a unit";
  EXPECT_EQ(check({"--pre", "-n", "ml", "--cpu", "2"}).code, 2);
  EXPECT_EQ(check({"--pre", "-n", "../x"}).code, 2);
}

TEST_F(InstallationCheck, BeforeInstallingRightsAndNamesAreAsked) {
  Json agents = Json::parse(answers[kAgentSetPath].body);
  agents["metadata"]["namespace"] = "gpu-agents";
  answers.clear();
  serve_text("/version", R"({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})");
  serve("/api/v1/namespaces", list_of_items(Json::array()));
  answers[kReviews] = {201, reply(true)};
  expect_shown(check({"--pre"}));
  serve("/apis/apps/v1/daemonsets", list_of_items(Json::array({agents})));
  EXPECT_THAT(check({"--pre"}).out, HasSubstr("there is no namespace gpu-agents yet")) << "of an upgrade";
  std::set<std::string> asked;
  instead = [&](const ScriptedRequest& request) -> std::optional<Answer> {
    if (request.target != kReviews) return std::nullopt;
    const Json attributes = Json::parse(request.body)["spec"]["resourceAttributes"];
    const std::string resource = attributes["resource"];
    asked.insert(resource + (attributes.contains("namespace")
                                 ? " in " + attributes["namespace"].get<std::string>()
                                 : ""));
    return Answer{201, reply(resource != "*" && resource != "clusterroles")};
  };
  expect_shown(check({"--pre", "-n", "fabric"}), 1);
  EXPECT_TRUE(asked.count("roles in fabric") == 1 && asked.count("namespaces") == 1);
}

TEST_F(InstallationCheck, TheAgentsPodIsTriedWhereTheNamespaceIsThere) {
  answers[kReviews] = {201, reply(true)};
  answers[kAgentPods] = refusal(403, "violates PodSecurity \"baseline:latest\": host namespaces");
  expect_shown(check({"--pre", "-n", "fabric"}), 1);
}

// Admission lets no pod be made, so that none can be read; those of before go on.
TEST_F(InstallationCheck, PodsThatAreRefusedAreTold) {
  Json deployment = Json::parse(answers[kDeploymentPath].body);
  deployment["status"] = Json::parse(R"({"readyReplicas": 2, "conditions": [
      {"type": "ReplicaFailure", "message": "pods \"w-x\" is forbidden: violates PodSecurity"}]})");
  serve(kDeploymentPath, deployment);
  expect_part(check(), "Webhook", 1);
}

}  // namespace
}  // namespace nccl_env::installation_check_test
