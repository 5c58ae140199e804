// SPDX-License-Identifier: Apache-2.0
// Lines on the parts of an installation: all there, half there, never seen.
#include "check/installed_parts.h"

#include <gmock/gmock.h>

#include "cli/installed_objects.h"

namespace nccl_env::cli::installed_parts_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Days = std::chrono::days;

const auto kNow = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());

LookUp seen(const Json& object) {
  return {LookUp::Outcome::Found, object, {}};
}
const LookUp kAbsent{LookUp::Outcome::Absent, {}, "get x: there is none"};
const LookUp kForbidden{LookUp::Outcome::Forbidden, {}, "not allowed: get x"};

InstalledParts healthy() {
  const auto objects = installed_objects(kNow);
  InstalledParts parts;
  parts.now = kNow;
  parts.name_space = "nccl-env";
  parts.version = seen(objects.at("/version"));
  parts.policy_crd = seen(objects.at(kCrdPath + kPolicyCrd));
  parts.table_crd = seen(objects.at(kCrdPath + kTableCrd));
  parts.mutating = seen(objects.at(kHooksPath));
  parts.validating = seen(objects.at(kValidatorPath));
  parts.service = seen(objects.at(kOwnPath + "services/nccl-env-webhook"));
  parts.secret = seen(objects.at(kOwnPath + "secrets/nccl-env-webhook-tls"));
  parts.deployment = seen(objects.at(kAppsPath + "deployments/nccl-env-webhook"));
  parts.daemon_set = seen(objects.at(kAppsPath + "daemonsets/nccl-env-agent"));
  parts.agents.items = {{"gpu-1", true}, {"gpu-2", true}};
  parts.tables.items = {{"gpu-1", "0.1.0"}, {"gpu-2", "0.1.0"}};
  return parts;
}

// The answer of a check; of several the worst in the order of the list.
std::optional<Checked> answer_of(const InstalledParts& parts, Code code) {
  std::optional<Checked> found;
  for (const Checked& checked : judge_parts(parts)) {
    if (checked.finding.code == code && (!found || !checked.good)) found = checked;
  }
  return found;
}

std::string word(const Checked& checked) {
  return checked.good ? "good" : std::string(to_string(checked.finding.severity));
}

void expect_line(const InstalledParts& parts, std::string_view check, const std::string& expected,
                 const std::string& sentence) {
  const auto answer = answer_of(parts, parse_code(check).value());
  ASSERT_TRUE(answer) << check;
  EXPECT_EQ(word(*answer), expected) << check << ": " << answer->finding.sentence;
  EXPECT_THAT(answer->finding.sentence, HasSubstr(sentence)) << check;
}

const std::string kGood = "good", kNote = "info", kWarning = "warning", kFailed = "error",
                  kNotSeen = "warning";

TEST(InstalledParts, WhatTheManifestsInstallIsGood) {
  for (const Checked& checked : judge_parts(healthy()))
    EXPECT_TRUE(checked.good) << to_string(checked.finding.code) << ": " << checked.finding.sentence;
  EXPECT_FALSE(is_nothing(healthy()));
}

TEST(InstalledParts, WhatMayNotBeReadIsNeitherGoodNorBad) {
  InstalledParts parts;
  for (LookUp* part :
       {&parts.version, &parts.policy_crd, &parts.table_crd, &parts.mutating, &parts.validating,
        &parts.service, &parts.secret, &parts.deployment, &parts.daemon_set})
    *part = kForbidden;
  parts.agents.problem = parts.tables.problem = "HTTP 403";
  for (const Checked& checked : judge_parts(parts)) {
    EXPECT_EQ(word(checked), "warning") << to_string(checked.finding.code);
    EXPECT_THAT(checked.finding.sentence, HasSubstr("not seen: "));
  }
  EXPECT_FALSE(is_nothing(parts)) << "it may be there";
}

TEST(InstalledParts, WhatIsAbsentHasFailed) {
  InstalledParts parts = healthy();
  for (LookUp* part : {&parts.policy_crd, &parts.table_crd, &parts.mutating, &parts.validating,
                       &parts.service, &parts.secret, &parts.deployment, &parts.daemon_set})
    *part = kAbsent;
  for (const char* check : {"Crds", "Hooks", "Validator", "Service", "Certificate", "Webhook", "Agents"}) {
    expect_line(parts, check, kFailed, "there is no ");
    EXPECT_NE(answer_of(parts, parse_code(check).value())->finding.remedy, "") << check;
  }
  expect_line(parts, "CaBundle", kNotSeen, "no hook was seen");
  EXPECT_TRUE(is_nothing(parts));
}

TEST(InstalledParts, OldServersAndStrangeVersionsAreTold) {
  InstalledParts parts = healthy();
  parts.version.object = {{"major", "1"}, {"minor", "29+"}, {"gitVersion", "v1.29.4-eks"}};
  expect_line(parts, "ApiServer", kFailed, "v1.29.4-eks is older than 1.30");
  parts.version.object["minor"] = "30+";
  expect_line(parts, "ApiServer", kGood, "v1.29.4-eks");
  for (const char* minor : {"", "x", "99999999999999999999"}) {
    parts.version.object["minor"] = minor;
    expect_line(parts, "ApiServer", kNotSeen, "not one that is known");
  }
}

TEST(InstalledParts, ACrdHasToServeTheVersionOfThisProgram) {
  InstalledParts parts = healthy();
  parts.table_crd.object["spec"]["versions"][0]["name"] = "v1";
  expect_line(parts, "Crds", kFailed, "nodefabrics.nccl-env.io does not serve v1alpha1");
  parts = healthy();
  parts.policy_crd.object["spec"]["versions"][0]["served"] = false;
  expect_line(parts, "Crds", kFailed, "ncclpolicies.nccl-env.io does not serve");
  parts = healthy();
  parts.policy_crd.object.erase("status");
  expect_line(parts, "Crds", kFailed, "is not established");
}

TEST(InstalledParts, HooksAreBothThereAndForOptedInNamespacesAlone) {
  InstalledParts parts = healthy();
  parts.mutating.object["webhooks"].erase(0);
  expect_line(parts, "Hooks", kFailed, "has no hook pods.nccl-env.io");
  parts = healthy();
  parts.mutating.object["webhooks"][1].erase("namespaceSelector");
  expect_line(parts, "Hooks", kFailed, "binding.nccl-env.io is called for namespaces without the label");
  parts = healthy();
  parts.mutating.object["webhooks"][1]["failurePolicy"] = "Fail";
  expect_line(parts, "Hooks", kGood, "binding.nccl-env.io (Fail), strict-pods.nccl-env.io (Fail)");
  parts.mutating.object["webhooks"][0]["failurePolicy"] = "Fail";
  expect_line(parts, "Hooks", kWarning, "no pod of an opted-in namespace is created");
  parts.mutating.object["webhooks"].erase(3);
  expect_line(parts, "Hooks", kFailed, "has no hook strict-binding.nccl-env.io");
}

TEST(InstalledParts, AnEmptyBundleIsTold) {
  InstalledParts parts = healthy();
  parts.validating.object["webhooks"][0]["clientConfig"].erase("caBundle");
  expect_line(parts, "CaBundle", kFailed, "at policies.nccl-env.io: caBundle is empty");
}

TEST(InstalledParts, TheServiceHasTheHooksPort) {
  InstalledParts parts = healthy();
  parts.service.object["spec"]["ports"].erase(0);
  expect_line(parts, "Service", kFailed, "has no port 443");
  for (Json& hook : parts.mutating.object["webhooks"]) hook["clientConfig"] = {{"url", "https://h/admit"}};
  expect_line(parts, "Service", kNote, "the hooks call https://h/admit");
}

TEST(InstalledParts, TheCertificateIsValidForTheServiceAndSignedByWhatTheHooksTrust) {
  InstalledParts parts = healthy();
  expect_line(parts, "Certificate", kGood, "(90 days), trusted by the hooks");
  parts.now = kNow + Days(67);  // a third is left: it is renewed about now
  expect_line(parts, "Certificate", kGood, "(23 days)");
  parts.now = kNow + Days(68);
  expect_line(parts, "Certificate", kWarning, "(22 days), and not renewed");
  parts.now = kNow + Days(90);
  expect_line(parts, "Certificate", kFailed, "ended on");
  parts.now = kNow - Days(1);
  expect_line(parts, "Certificate", kFailed, "is valid only from");

  parts = healthy();
  parts.secret.object = certificate_secret(kNow, "other.svc");
  expect_line(parts, "Certificate", kFailed, "is for other.svc and not for nccl-env-webhook.nccl-env.svc");
  parts.secret.object["data"]["tls.crt"] = "AAAA";
  expect_line(parts, "Certificate", kFailed, "Secret nccl-env/nccl-env-webhook-tls");
  parts.secret.object["data"] = Json::object();  // as the manifests have it
  expect_line(parts, "Certificate", kFailed, "holds no certificate (tls.crt)");

  parts = healthy();
  const net::KeyPair stranger = net::make_ca("stranger", kNow).value();
  parts.mutating.object["webhooks"][1]["clientConfig"]["caBundle"] =
      kube::encode_base64(stranger.certificate);
  expect_line(parts, "Certificate", kFailed, "not signed by a CA of the caBundle of binding.nccl-env.io");
  // While a CA is replaced the bundle has both.
  parts.mutating.object["webhooks"][1]["clientConfig"]["caBundle"] =
      kube::encode_base64(stranger.certificate + test_ca().certificate);
  expect_line(parts, "Certificate", kGood, "trusted");
  parts.mutating = parts.validating = kForbidden;
  expect_line(parts, "Certificate", kNotSeen, "whether the hooks trust it was not seen");
}

TEST(InstalledParts, ReplicasThatAreAwayAreCounted) {
  InstalledParts parts = healthy();
  Json& status = parts.deployment.object["status"];
  status["readyReplicas"] = 1;
  expect_line(parts, "Webhook", kWarning, "1 of 2 replicas are ready");
  status.erase("readyReplicas");  // 0 is left out
  expect_line(parts, "Webhook", kFailed, "none of 2 replicas is ready");
  status["readyReplicas"] = 2;
  status["updatedReplicas"] = 1;
  expect_line(parts, "Webhook", kWarning, "1 of 2 replicas are of the newest roll-out");
  parts.deployment.object["spec"]["replicas"] = 0;
  expect_line(parts, "Webhook", kFailed, "is scaled to 0");
  parts.deployment.object["spec"]["replicas"] = 2;
  parts.deployment.object.erase("status");
  expect_line(parts, "Webhook", kFailed, "none of 2");
}

TEST(InstalledParts, AgentsThatAreAwayAreNamed) {
  InstalledParts parts = healthy();
  Json& status = parts.daemon_set.object["status"];
  status["numberReady"] = 1;
  parts.agents.items["gpu-2"] = false;
  expect_line(parts, "Agents", kWarning, "1 of 2 agents ready: not on gpu-2");
  status["numberReady"] = 0;
  parts.agents.items["gpu-1"] = false;
  expect_line(parts, "Agents", kFailed, "0 of 2 agents ready: not on gpu-1, gpu-2");
  status = {{"observedGeneration", 2},
            {"desiredNumberScheduled", 2},
            {"numberReady", 2},
            {"updatedNumberScheduled", 1}};
  expect_line(parts, "Agents", kWarning, "1 of 2 agents are of the newest roll-out");
  status = {{"observedGeneration", 2}, {"desiredNumberScheduled", 0}};
  expect_line(parts, "Agents", kWarning, "is for no node");
  parts.daemon_set.object.erase("status");
  expect_line(parts, "Agents", kWarning, "was not looked at by its controller yet");
}

TEST(InstalledParts, NodesWithoutATableAreNamed) {
  InstalledParts parts = healthy();
  parts.tables.items.erase("gpu-2");
  expect_line(parts, "Tables", kWarning, "1 node with an agent and without a table: gpu-2");
  parts.tables.items.clear();
  expect_line(parts, "Tables", kFailed, "2 nodes with an agent and without a table");
  parts.agents.items.clear();
  expect_line(parts, "Tables", kWarning, "0 tables, and no agent");
  parts.tables.items["by-hand"] = "";
  expect_line(parts, "Tables", kNote, "1 table, and no agent that would write one");
  expect_line(parts, "AgentVersions", kNote, "no table names");
  parts.tables.problem = "HTTP 403";
  expect_line(parts, "Tables", kNotSeen, "HTTP 403");
}

TEST(InstalledParts, VersionsThatDifferAreTold) {
  InstalledParts parts = healthy();
  expect_line(parts, "Versions", kGood,
              "webhook 0.1.0, init container 0.1.0, agent 0.1.0, this program 0.1.0");
  parts.tables.items["gpu-2"] = "0.0.9";
  expect_line(parts, "AgentVersions", kWarning, "1 table of an agent 0.0.9 instead of 0.1.0: gpu-2");
  Json& image = parts.daemon_set.object["spec"]["template"]["spec"]["containers"][0]["image"];
  image = "registry.example:5000/nccl-env-agent:v0.2.0@sha256:00";
  expect_line(parts, "Versions", kWarning, "agent 0.2.0, this program 0.1.0");
  expect_line(parts, "AgentVersions", kWarning, "2 tables of an agent 0.0.9, 0.1.0 instead of 0.2.0");
  image = "registry.example:5000/nccl-env-agent@sha256:00";
  expect_line(parts, "Versions", kNote,
              "agent not known from registry.example:5000/nccl-env-agent@sha256:00");
  expect_line(parts, "AgentVersions", kWarning, "instead of 0.1.0: gpu-2");
}

TEST(InstalledParts, AnInstallationInAnotherNamespaceIsFoundByItsHooks) {
  EXPECT_EQ(service_namespace(healthy().mutating.object), "nccl-env");
  EXPECT_EQ(service_namespace(Json::parse(R"({"webhooks": [{"clientConfig": {"url": "https://h"}}]})")), "");
  EXPECT_EQ(service_namespace(Json()), "");
}

// A server may answer anything.
TEST(InstalledParts, StrangeObjectsAreNotGood) {
  for (const char* text : {"{}", R"({"webhooks": 7, "spec": "x", "status": [], "data": 1})",
                           R"({"webhooks": [7], "spec": {"versions": 3, "ports": {}, "template": []}})"}) {
    InstalledParts parts = healthy();
    for (LookUp* part :
         {&parts.version, &parts.policy_crd, &parts.table_crd, &parts.mutating, &parts.validating,
          &parts.service, &parts.secret, &parts.deployment, &parts.daemon_set})
      part->object = Json::parse(text);
    for (const char* check :
         {"ApiServer", "Crds", "Hooks", "Validator", "Service", "Certificate", "Webhook", "Agents"})
      EXPECT_FALSE(answer_of(parts, parse_code(check).value())->good) << check << text;
  }
}

}  // namespace
}  // namespace nccl_env::cli::installed_parts_test
