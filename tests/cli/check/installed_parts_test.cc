// SPDX-License-Identifier: Apache-2.0
// Lines on the parts of an installation: all there, half there, never seen.
#include "check/installed_parts.h"

#include <gmock/gmock.h>

#include <regex>

#include "cli/cli_run.h"
#include "cli/installed_objects.h"
#include "support/golden.h"

namespace nccl_env::cli::installed_parts_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
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

// Without when a certificate begins and ends, and without this version.
std::string without_times(const std::string& sentence) {
  static const std::regex time("\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z");
  return steady(std::regex_replace(sentence, time, "TIME"));
}

void expect_line(const InstalledParts& parts, std::string_view check, const std::string& expected) {
  const auto answer = answer_of(parts, parse_code(check).value());
  ASSERT_TRUE(answer) << check;
  EXPECT_EQ(word(*answer), expected) << check << ": " << answer->finding.sentence;
  expect_golden(std::string(check) + " " + expected, without_times(answer->finding.sentence));
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
    expect_golden(std::string(to_string(checked.finding.code)), checked.finding.sentence);
  }
  EXPECT_FALSE(is_nothing(parts)) << "it may be there";
}

TEST(InstalledParts, WhatIsAbsentHasFailed) {
  InstalledParts parts = healthy();
  for (LookUp* part : {&parts.policy_crd, &parts.table_crd, &parts.mutating, &parts.validating,
                       &parts.service, &parts.secret, &parts.deployment, &parts.daemon_set})
    *part = kAbsent;
  for (const char* check : {"Crds", "Hooks", "Validator", "Service", "Certificate", "Webhook", "Agents"}) {
    expect_line(parts, check, kFailed);
    EXPECT_NE(answer_of(parts, parse_code(check).value())->finding.remedy, "") << check;
  }
  expect_line(parts, "CaBundle", kNotSeen);
  EXPECT_TRUE(is_nothing(parts));
}

TEST(InstalledParts, OldServersAndStrangeVersionsAreTold) {
  InstalledParts parts = healthy();
  parts.version.object = {{"major", "1"}, {"minor", "29+"}, {"gitVersion", "v1.29.4-eks"}};
  expect_line(parts, "ApiServer", kFailed);
  parts.version.object["minor"] = "30+";
  expect_line(parts, "ApiServer", kGood);
  for (const char* minor : {"", "x", "99999999999999999999"}) {
    parts.version.object["minor"] = minor;
    expect_line(parts, "ApiServer", kNotSeen);
  }
}

TEST(InstalledParts, ACrdHasToServeTheVersionOfThisProgram) {
  InstalledParts parts = healthy();
  parts.table_crd.object["spec"]["versions"][0]["name"] = "v1";
  expect_line(parts, "Crds", kFailed);
  parts = healthy();
  parts.policy_crd.object["spec"]["versions"][0]["served"] = false;
  expect_line(parts, "Crds", kFailed);
  parts = healthy();
  parts.policy_crd.object.erase("status");
  expect_line(parts, "Crds", kFailed);
}

TEST(InstalledParts, HooksAreBothThereAndForOptedInNamespacesAlone) {
  InstalledParts parts = healthy();
  parts.mutating.object["webhooks"].erase(0);
  expect_line(parts, "Hooks", kFailed);
  parts = healthy();
  parts.mutating.object["webhooks"][1].erase("namespaceSelector");
  expect_line(parts, "Hooks", kFailed);
  parts = healthy();
  parts.mutating.object["webhooks"][1]["failurePolicy"] = "Fail";
  expect_line(parts, "Hooks", kGood);
  parts.mutating.object["webhooks"][0]["failurePolicy"] = "Fail";
  expect_line(parts, "Hooks", kWarning);
  parts.mutating.object["webhooks"].erase(3);
  expect_line(parts, "Hooks", kFailed);
}

TEST(InstalledParts, AnEmptyBundleIsTold) {
  InstalledParts parts = healthy();
  parts.validating.object["webhooks"][0]["clientConfig"].erase("caBundle");
  expect_line(parts, "CaBundle", kFailed);
}

TEST(InstalledParts, TheServiceHasTheHooksPort) {
  InstalledParts parts = healthy();
  parts.service.object["spec"]["ports"].erase(0);
  expect_line(parts, "Service", kFailed);
  for (Json& hook : parts.mutating.object["webhooks"]) hook["clientConfig"] = {{"url", "https://h/admit"}};
  expect_line(parts, "Service", kNote);
}

TEST(InstalledParts, TheCertificateIsValidForTheServiceAndSignedByWhatTheHooksTrust) {
  InstalledParts parts = healthy();
  expect_line(parts, "Certificate", kGood);
  parts.now = kNow + Days(67);  // a third is left: it is renewed about now
  expect_line(parts, "Certificate", kGood);
  parts.now = kNow + Days(68);
  expect_line(parts, "Certificate", kWarning);
  parts.now = kNow + Days(90);
  expect_line(parts, "Certificate", kFailed);
  parts.now = kNow - Days(1);
  expect_line(parts, "Certificate", kFailed);

  parts = healthy();
  parts.secret.object = certificate_secret(kNow, "other.svc");
  expect_line(parts, "Certificate", kFailed);
  parts.secret.object["data"]["tls.crt"] = "AAAA";
  expect_line(parts, "Certificate", kFailed);
  parts.secret.object["data"] = Json::object();  // as the manifests have it
  expect_line(parts, "Certificate", kFailed);

  parts = healthy();
  const net::KeyPair stranger = net::make_ca("stranger", kNow).value();
  parts.mutating.object["webhooks"][1]["clientConfig"]["caBundle"] =
      kube::encode_base64(stranger.certificate);
  expect_line(parts, "Certificate", kFailed);
  // While a CA is replaced the bundle has both.
  parts.mutating.object["webhooks"][1]["clientConfig"]["caBundle"] =
      kube::encode_base64(stranger.certificate + test_ca().certificate);
  expect_line(parts, "Certificate", kGood);
  parts.mutating = parts.validating = kForbidden;
  expect_line(parts, "Certificate", kNotSeen);
}

TEST(InstalledParts, ReplicasThatAreAwayAreCounted) {
  InstalledParts parts = healthy();
  Json& status = parts.deployment.object["status"];
  status["readyReplicas"] = 1;
  expect_line(parts, "Webhook", kWarning);
  status.erase("readyReplicas");  // 0 is left out
  expect_line(parts, "Webhook", kFailed);
  status["readyReplicas"] = 2;
  status["updatedReplicas"] = 1;
  expect_line(parts, "Webhook", kWarning);
  parts.deployment.object["spec"]["replicas"] = 0;
  expect_line(parts, "Webhook", kFailed);
  parts.deployment.object["spec"]["replicas"] = 2;
  parts.deployment.object.erase("status");
  expect_line(parts, "Webhook", kFailed);
}

TEST(InstalledParts, AgentsThatAreAwayAreNamed) {
  InstalledParts parts = healthy();
  Json& status = parts.daemon_set.object["status"];
  status["numberReady"] = 1;
  parts.agents.items["gpu-2"] = false;
  expect_line(parts, "Agents", kWarning);
  status["numberReady"] = 0;
  parts.agents.items["gpu-1"] = false;
  expect_line(parts, "Agents", kFailed);
  status = {{"observedGeneration", 2},
            {"desiredNumberScheduled", 2},
            {"numberReady", 2},
            {"updatedNumberScheduled", 1}};
  expect_line(parts, "Agents", kWarning);
  status = {{"observedGeneration", 2}, {"desiredNumberScheduled", 0}};
  expect_line(parts, "Agents", kWarning);
  parts.daemon_set.object.erase("status");
  expect_line(parts, "Agents", kWarning);
}

TEST(InstalledParts, NodesWithoutATableAreNamed) {
  InstalledParts parts = healthy();
  parts.tables.items.erase("gpu-2");
  expect_line(parts, "Tables", kWarning);
  parts.tables.items.clear();
  expect_line(parts, "Tables", kFailed);
  parts.agents.items.clear();
  expect_line(parts, "Tables", kWarning);
  parts.tables.items["by-hand"] = "";
  expect_line(parts, "Tables", kNote);
  expect_line(parts, "AgentVersions", kNote);
  parts.tables.problem = "HTTP 403";
  expect_line(parts, "Tables", kNotSeen);
}

TEST(InstalledParts, VersionsThatDifferAreTold) {
  InstalledParts parts = healthy();
  expect_line(parts, "Versions", kGood);
  parts.tables.items["gpu-2"] = "0.0.9";
  expect_line(parts, "AgentVersions", kWarning);
  Json& image = parts.daemon_set.object["spec"]["template"]["spec"]["containers"][0]["image"];
  image = "registry.example:5000/nccl-env-agent:v0.2.0@sha256:00";
  expect_line(parts, "Versions", kWarning);
  expect_line(parts, "AgentVersions", kWarning);
  image = "registry.example:5000/nccl-env-agent@sha256:00";
  expect_line(parts, "Versions", kNote);
  expect_line(parts, "AgentVersions", kWarning);
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
