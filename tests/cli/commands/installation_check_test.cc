// SPDX-License-Identifier: Apache-2.0
// nccl-env check: the installation as a cluster shows it, before, after and when leaving.
#include "cli/asked_cluster.h"
#include "cli/installed_objects.h"

namespace nccl_env::installation_check_test {
namespace {

using namespace nccl_env::tests;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kDeployment = kAppsPath + "deployments/nccl-env-webhook";
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
  expect_shown(check(), 1);
  const Json json = Json::parse(check({"-o", "json"}).out);
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(line(json, "Hooks")["severity"], "error");
  EXPECT_EQ(json["ok"][0].dump(), R"({"code":"ApiServer","sentence":"Kubernetes v1.36.3"})");
}

TEST_F(InstallationCheck, WhatMayNotBeReadIsNotSeen) {
  answers[kOwnPath + "secrets/nccl-env-webhook-tls"] = refusal(403, "secrets is forbidden");
  expect_shown(check(), 1);
  EXPECT_EQ(line(Json::parse(check({"-o", "json"}).out), "Certificate")["severity"], "warning");
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
  expect_shown(check(), 1);
}

TEST_F(InstallationCheck, APodIsTriedInAnOptedInNamespace) {
  const Json space{{"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}};
  serve("/api/v1/namespaces", list_of_items(Json::array({space})));
  serve("/api/v1/namespaces/ml", space);
  serve("/apis/nccl-env.io/v1alpha1/ncclpolicies/p", parse_documents(kPolicy, "p").value().front());
  bool called = true;
  instead = [&](const ScriptedRequest& request) -> std::optional<Answer> {
    if (request.method != "POST") return std::nullopt;
    Json made = Json::parse(request.body);
    if (called)
      made["metadata"]["annotations"]["nccl-env.io/status"] =
          R"({"v":1,"form":"Binding","containers":{"sample":{"set":{"NCCL_IB_HCA":"Node"}}}})";
    return Answer{201, made.dump()};
  };
  expect_shown(check());
  called = false;
  expect_shown(check(), 1);
  serve("/apis/nccl-env.io/v1alpha1/ncclpolicies/p",
        parse_documents(kPolicy + "  mode: DryRun\n", "p").value().front());
  expect_shown(check());
}

// A first look finds no replica ready, later ones do.
TEST_F(InstallationCheck, WaitLooksAgainUntilAllIsWell) {
  Json deployment = Json::parse(answers[kDeployment].body);
  const std::string ready = deployment.dump();
  deployment["status"].erase("readyReplicas");
  int looks = 0;
  instead = [&](const ScriptedRequest& request) -> std::optional<Answer> {
    if (!request.target.starts_with(kDeployment)) return std::nullopt;
    return Answer{200, ++looks == 1 ? deployment.dump() : ready};
  };
  expect_shown(check({"--wait", "10m"}));
  EXPECT_EQ(looks, 2);
}

TEST_F(InstallationCheck, AWaitThatEndsSaysWhatIsStillWrong) {
  answers.erase(kHooksPath);
  EXPECT_EQ(check({"--wait", "1s"}).code, 1);
  EXPECT_EQ(check({"--wait", "2"}).code, 2) << "a number without a unit";
}

TEST_F(InstallationCheck, BeforeInstallingRightsAndNamesAreAsked) {
  answers.clear();
  serve_text("/version", R"({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})");
  serve("/api/v1/namespaces", list_of_items(Json::array()));
  answers[kReviews] = {201, reply(true)};
  answers["/api/v1/namespaces/ml/podtemplates"] = refusal(422, "must specify one of: fieldRef");
  expect_shown(check({"--pre"}));
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
  answers["/api/v1/namespaces/ml/podtemplates"] = {
      201, R"({"template": {"spec": {"containers": [{"env": [{"valueFrom": {"fileKeyRef": {}}}]}]}}})"};
  serve_text("/api/v1/namespaces/fabric",
             R"({"metadata": {"name": "fabric"}, "status": {"phase": "Active"}})");
  answers["/api/v1/namespaces/fabric/pods"] =
      refusal(403, "violates PodSecurity \"baseline:latest\": host namespaces");
  expect_shown(check({"--pre", "-n", "fabric"}), 1);
}

TEST_F(InstallationCheck, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(check({"--pre", "--uninstall"}).code, 2);
  EXPECT_EQ(check({"--uninstall", "-n", "ml"}).code, 2);
  EXPECT_EQ(check({"--pre", "-n", "ml", "--cpu", "2"}).code, 2);
  EXPECT_EQ(check({"--pre", "-n", "../x"}).code, 2);
}

const std::string kReference = "metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']";

class Leaving : public InstallationCheck {
 protected:
  void SetUp() override {
    InstallationCheck::SetUp();
    serve("/api/v1/namespaces", list_of_items(Json::array({{{"metadata", {{"name", "ml"}}}}})));
    pods(0);
  }
  void without_hooks(std::initializer_list<std::size_t> places) {
    Json hooks = Json::parse(answers[kHooksPath].body);
    for (const std::size_t place : places) hooks["webhooks"].erase(place);
    serve(kHooksPath, hooks);
  }
  void without_pods_hooks() { without_hooks({2, 0}); }
  void pods(int count) {
    Json items = Json::array();
    const Json field{{"fieldRef", {{"fieldPath", kReference}}}};
    const Json container{{"name", "c"}, {"env", Json::array({Json{{"name", "V"}, {"valueFrom", field}}})}};
    for (int i = 0; i < count; ++i)
      items.push_back({{"metadata", {{"name", "train-" + std::to_string(i)}, {"namespace", "ml"}}},
                       {"spec", {{"containers", Json::array({container})}}}});
    serve("/api/v1/pods", list_of_items(items));
  }
  CliResult leave(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"check", "--uninstall"});
    return ask(more);
  }
};

TEST_F(Leaving, WhileNewPodsAreChangedItIsNotYet) {
  expect_shown(leave(), 1);
  EXPECT_EQ(asked().back(),
            "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500");
}

// A removal moves the hooks behind it.
TEST_F(Leaving, TheHooksOfNewPodsAreRemovedFromTheLastOne) {
  const auto removed = [&] {
    const Json found = line(Json::parse(leave({"-o", "json"}).out), "NewPods");
    EXPECT_EQ(found["severity"], "error");
    return found["remedy"].get<std::string>();
  };
  expect_golden("both hooks", removed());
  without_hooks({0});
  expect_golden("strict-pods.nccl-env.io is left", removed());
}

TEST_F(Leaving, PodsThatWaitAreCountedByNamespaceAndTheListIsBounded) {
  without_pods_hooks();
  pods(23);
  expect_shown(leave(), 1);
}

TEST_F(Leaving, WithoutWaitingPodsTheBindingHookMayGo) {
  without_pods_hooks();
  expect_shown(leave());
}

// A registry's copy of the image may go once nobody needs it.
TEST_F(Leaving, PodsThatNeedTheImageAreNamedAndHoldNothingUp) {
  without_pods_hooks();
  Json items = Json::array();
  for (const auto& [name, phase] :
       std::map<std::string, std::string>{{"done", "Succeeded"}, {"runs", "Running"}, {"waits", "Pending"}})
    items.push_back(
        {{"metadata", {{"name", name}, {"namespace", "ml"}}},
         {"status", {{"phase", phase}}},
         {"spec",
          {{"nodeName", "gpu-1"},
           {"initContainers", {{{"name", "nccl-env-resolve"}, {"image", "registry/agent:1"}}}}}}});
  serve("/api/v1/pods", list_of_items(items));
  expect_shown(leave());
  EXPECT_EQ(line(Json::parse(leave({"-o", "json"}).out), "ImageUsers")["severity"], "info");
}

TEST_F(Leaving, ABindingHookThatWentTooEarlyIsTold) {
  answers.erase(kHooksPath);
  pods(2);
  expect_shown(leave(), 1);
  pods(0);
  EXPECT_EQ(leave().code, 0);
}

// Nothing may pass for safe because it could not be seen.
TEST_F(Leaving, WithoutTheRightNothingIsSafe) {
  answers["/api/v1/pods"] = refusal(403, "pods is forbidden: cannot list");
  const CliResult result = leave();
  EXPECT_EQ(result.out, "");
  expect_shown(result, 4);
}

class NewCa : public InstallationCheck {
 protected:
  void SetUp() override {
    InstallationCheck::SetUp();
    secret["metadata"]["resourceVersion"] = "7";
    secret["data"]["ca.crt"] = kube::encode_base64(test_ca().certificate);
    secret["data"]["ca.key"] = "c2VjcmV0";
    serve(kSecret, secret);
    instead = [this](const ScriptedRequest& request) -> std::optional<Answer> {
      if (request.method != "PUT") return std::nullopt;
      written.push_back(request.target + " " + request.body);
      return written_answer;
    };
  }
  const std::string kSecret = kOwnPath + "secrets/nccl-env-webhook-tls";
  Json secret = certificate_secret(std::chrono::system_clock::now());
  std::vector<std::string> written;
  Answer written_answer{200, "{}"};
};

TEST_F(NewCa, BeginsWithoutTheKeyOfTheOneBefore) {
  const CliResult result = check({"--new-ca"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("ok       Certificate  the webhook makes a new CA"));
  secret["data"].erase("ca.key");
  EXPECT_THAT(written, ::testing::ElementsAre(kSecret + " " + secret.dump()));
}

TEST_F(NewCa, IsNotBegunTwice) {
  Json later = secret;
  later["data"].erase("ca.key");
  serve(kSecret, later);
  EXPECT_THAT(check({"--new-ca"}).out, HasSubstr("a new CA is on its way already"));
  // The new CA is there, and the certificate is still the former one's.
  later = secret;
  const auto next = net::make_ca("next", std::chrono::system_clock::now(), std::chrono::hours(24));
  later["data"]["ca.crt"] = kube::encode_base64(next->certificate);
  serve(kSecret, later);
  EXPECT_THAT(check({"--new-ca"}).out, HasSubstr("a new CA is on its way already"));
  EXPECT_TRUE(written.empty());
}

TEST_F(NewCa, ThatCannotBeBegunIsSaid) {
  written_answer = refusal(409, "the object has been modified");
  CliResult result = check({"--new-ca"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("the object has been modified"));
  Json others = secret;
  others["data"].erase("ca.crt");
  serve(kSecret, others);
  result = check({"--new-ca"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("its certificates are not the webhook's own"));
  answers.erase(kHooksPath);
  EXPECT_EQ(check({"--new-ca"}).code, 4);
  EXPECT_EQ(check({"--new-ca", "--pre"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::installation_check_test
