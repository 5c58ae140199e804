// SPDX-License-Identifier: Apache-2.0
// Lines on the parts of an installation: all there, half there, never seen. And on a cluster before it.
#include "check/installed_parts.h"

#include <functional>
#include <regex>
#include <set>

#include "check/preparation.h"
#include "cli/cli_run.h"
#include "cli/installed_objects.h"
#include "nccl_env/kube/cures.h"
#include "support/golden.h"

namespace nccl_env::cli::installed_parts_test {
namespace {

using namespace nccl_env::tests;
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
  for (OwnSpace* space : {&parts.webhook_space, &parts.agent_space})
    space->found = seen(objects.at("/api/v1/namespaces/" + space->name));
  parts.version = seen(objects.at("/version"));
  parts.policy_crd = seen(objects.at(kCrdPath + kPolicyCrd));
  parts.table_crd = seen(objects.at(kCrdPath + kTableCrd));
  parts.mutating = seen(objects.at(kHooksPath));
  parts.validating = seen(objects.at(kValidatorPath));
  parts.webhook_rights = seen(objects.at(kBindingsPath + "webhook"));
  parts.agent_rights = seen(objects.at(kBindingsPath + "agent"));
  parts.secret_rights = seen(objects.at(kSecretRightsPath));
  parts.webhook_role = seen(objects.at(kRolesPath + "webhook"));
  parts.agent_role = seen(objects.at(kRolesPath + "agent"));
  parts.secret_role = seen(objects.at(kSecretRolePath));
  parts.service = seen(objects.at(kOwnPath + "services/nccl-env-webhook"));
  parts.secret = seen(objects.at(kOwnPath + "secrets/nccl-env-webhook-tls"));
  parts.deployment = seen(objects.at(kDeploymentPath));
  parts.daemon_set = seen(objects.at(kAgentSetPath));
  parts.agents.items = {{"gpu-1", true}, {"gpu-2", true}};
  parts.tables.items = {{"gpu-1", true}, {"gpu-2", true}};
  return parts;
}

// The answer of a check; of several the worst in the order of the list.
std::optional<Checked> answer_of(const Checks& checks, std::string_view check) {
  std::optional<Checked> found;
  for (const Checked& checked : checks) {
    if (to_string(checked.finding.code) == check && (!found || !checked.good)) found = checked;
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

void expect_line(const Checks& checks, std::string_view check, const std::string& expected) {
  const auto answer = answer_of(checks, check);
  ASSERT_TRUE(answer) << check;
  EXPECT_EQ(word(*answer), expected) << check << ": " << answer->finding.sentence;
  expect_golden(std::string(check) + " " + expected, without_times(answer->finding.sentence));
}

using Part = LookUp InstalledParts::*;
const std::vector<Part> kInstalled{&InstalledParts::policy_crd, &InstalledParts::table_crd,
                                   &InstalledParts::mutating,   &InstalledParts::validating,
                                   &InstalledParts::service,    &InstalledParts::secret,
                                   &InstalledParts::deployment, &InstalledParts::daemon_set};

const std::string kGood = "good", kNote = "info", kWarning = "warning", kFailed = "error",
                  kNotSeen = "warning";

TEST(InstalledParts, WhatTheManifestsInstallIsGood) {
  for (const Checked& checked : judge_parts(healthy()))
    EXPECT_TRUE(checked.good) << to_string(checked.finding.code) << ": " << checked.finding.sentence;
  EXPECT_FALSE(is_nothing(healthy()));
}

TEST(InstalledParts, WhatMayNotBeReadIsNeitherGoodNorBad) {
  InstalledParts parts;
  parts.version = parts.webhook_space.found = parts.agent_space.found = kForbidden;
  for (const Part part : kInstalled) parts.*part = kForbidden;
  parts.agents.problem = parts.tables.problem = "HTTP 403";
  for (const Checked& checked : judge_parts(parts)) {
    EXPECT_EQ(word(checked), "warning") << to_string(checked.finding.code);
    expect_golden(std::string(to_string(checked.finding.code)), checked.finding.sentence);
  }
  EXPECT_FALSE(is_nothing(parts)) << "it may be there";
}

TEST(InstalledParts, WhatIsAbsentHasFailed) {
  InstalledParts parts = healthy();
  for (const Part part : kInstalled) parts.*part = kAbsent;
  for (const char* check : {"Crds", "Hooks", "Validator", "Service", "Certificate", "Webhook", "Agents"}) {
    expect_line(judge_parts(parts), check, kFailed);
    EXPECT_NE(answer_of(judge_parts(parts), check)->finding.remedy, "") << check;
  }
  expect_line(judge_parts(parts), "CaBundle", kNotSeen);
  EXPECT_TRUE(is_nothing(parts));
}

template <class Facts>
struct Judged {
  const char* check;
  std::string expected;
  std::function<void(Facts&)> change;  // of healthy ones
};

void expect_judged(std::initializer_list<Judged<InstalledParts>> rows) {
  for (const auto& row : rows) {
    InstalledParts parts = healthy();
    row.change(parts);
    expect_line(judge_parts(parts), row.check, row.expected);
  }
}

TEST(InstalledParts, ServerCrdsAndHooksAreThoseOfThisProgram) {
  const auto minor = [](const char* text) {
    return [text](InstalledParts& p) { p.version.object["minor"] = text; };
  };
  expect_judged(
      {{"ApiServer", kFailed, minor("29+")},
       {"ApiServer", kGood, minor("30+")},
       {"ApiServer", kNotSeen, minor("")},
       {"ApiServer", kNotSeen, minor("99999999999999999999")},
       {"Crds", kFailed, [](auto& p) { p.table_crd.object["spec"]["versions"][0]["name"] = "v1"; }},
       {"Crds", kFailed, [](auto& p) { p.policy_crd.object["spec"]["versions"][0]["served"] = false; }},
       {"Crds", kFailed, [](auto& p) { p.policy_crd.object.erase("status"); }},
       {"Hooks", kFailed, [](auto& p) { p.mutating.object["webhooks"].erase(0); }},
       {"Hooks", kFailed, [](auto& p) { p.mutating.object["webhooks"][1].erase("namespaceSelector"); }},
       {"Hooks", kGood, [](auto& p) { p.mutating.object["webhooks"][1]["failurePolicy"] = "Fail"; }},
       {"Hooks", kWarning, [](auto& p) { p.mutating.object["webhooks"][0]["failurePolicy"] = "Fail"; }},
       {"Hooks", kFailed, [](auto& p) { p.mutating.object["webhooks"].erase(3); }},
       {"CaBundle", kFailed,
        [](auto& p) { p.validating.object["webhooks"][0]["clientConfig"].erase("caBundle"); }},
       {"Service", kFailed, [](auto& p) { p.service.object["spec"]["ports"].erase(0); }},
       {"Service", kFailed, [](auto& p) { p.service.object["spec"]["selector"]["app"] = "x"; }},
       {"Rights", kFailed, [](auto& p) { p.secret_rights = kAbsent; }},
       {"Rights", kGood,
        [](auto& p) {
          p.secret_rights = kAbsent;  // certificates by cert-manager, or files
          p.deployment.object["spec"]["template"]["spec"]["containers"][0].erase("args");
        }},
       {"Service", kGood, [](auto& p) {
          for (Json& hook : p.mutating.object["webhooks"])
            hook["clientConfig"] = Json::object({{"url", "https://h/admit"}});
        }}});
}

// All was "ok" while no Binding got values, or the next restart would fail.
TEST(InstalledParts, HalvesOfAHookOfAServiceAndOfARightAreTold) {
  const auto hook = [](int index, const char* path, const char* value) {
    return [=](InstalledParts& p) { p.mutating.object["webhooks"][index][Json::json_pointer(path)] = value; };
  };
  const std::tuple<const char*, const char*, std::function<void(InstalledParts&)>> rows[] = {
      {"Rights", "ClusterRole nccl-env-agent is not there", [](auto& p) { p.agent_role = kAbsent; }},
      {"Rights", "or gives nothing: the webhook can follow",
       [](auto& p) { p.webhook_role.object["rules"].clear(); }},
      {"Service", "leads to port 9999",
       [](auto& p) { p.service.object["spec"]["ports"][0]["targetPort"] = 9999; }},
      {"Hooks", "binding.nccl-env.io calls /nope", hook(1, "/clientConfig/service/path", "/nope")},
      {"Hooks", "is not called for CREATE of pods/binding", hook(1, "/rules/0/operations/0", "UPDATE")},
      {"Hooks", "strict-pods.nccl-env.io has failurePolicy Ignore", hook(2, "/failurePolicy", "Ignore")}};
  for (const auto& [check, told, change] : rows) {
    InstalledParts parts = healthy();
    change(parts);
    EXPECT_THAT(answer_of(judge_parts(parts), check)->finding.sentence, HasSubstr(told));
    EXPECT_EQ(word(*answer_of(judge_parts(parts), check)), kFailed) << told;
  }
  InstalledParts parts = healthy();
  parts.agent_role = kForbidden;
  EXPECT_FALSE(answer_of(judge_parts(parts), "Rights")->seen) << "the binding alone proves nothing";
}

TEST(InstalledParts, TheCertificateIsValidForTheServiceAndSignedByWhatTheHooksTrust) {
  const net::KeyPair stranger = net::make_ca("stranger", kNow).value();
  const auto trusted = [](const std::string& bundle) {
    return [bundle](InstalledParts& p) {
      p.mutating.object["webhooks"][1]["clientConfig"]["caBundle"] = kube::encode_base64(bundle);
    };
  };
  expect_judged(
      {{"Certificate", kGood, [](auto&) {}},
       // A third is left: it is renewed about now.
       {"Certificate", kGood, [](auto& p) { p.now = kNow + Days(67); }},
       {"Certificate", kWarning, [](auto& p) { p.now = kNow + Days(68); }},
       {"Certificate", kFailed, [](auto& p) { p.now = kNow + Days(90); }},
       {"Certificate", kFailed, [](auto& p) { p.now = kNow - Days(1); }},
       {"Certificate", kFailed, [](auto& p) { p.secret.object = certificate_secret(kNow, "other.svc"); }},
       {"Certificate", kFailed, [](auto& p) { p.secret.object["data"]["tls.crt"] = "AAAA"; }},
       // As the manifests have it.
       {"Certificate", kFailed, [](auto& p) { p.secret.object["data"] = Json::object(); }},
       {"Certificate", kFailed, trusted(stranger.certificate)},
       // While a CA is replaced the bundle has both.
       {"Certificate", kGood, trusted(stranger.certificate + test_ca().certificate)},
       {"Certificate", kNotSeen, [](auto& p) { p.mutating = p.validating = kForbidden; }}});
}

TEST(InstalledParts, ReplicasAndAgentsThatAreAwayAreTold) {
  const auto agents = [](bool first, bool second) {
    return [=](InstalledParts& p) {
      p.daemon_set.object["status"]["numberReady"] = int{first} + int{second};
      p.agents.items = {{"gpu-1", first}, {"gpu-2", second}};
    };
  };
  const auto status = [](const char* text) {
    return [text](InstalledParts& p) { p.daemon_set.object["status"].update(Json::parse(text)); };
  };
  expect_judged({{"Webhook", kWarning, [](auto& p) { p.deployment.object["status"]["readyReplicas"] = 1; }},
                 // 0 is left out.
                 {"Webhook", kFailed, [](auto& p) { p.deployment.object["status"].erase("readyReplicas"); }},
                 {"Webhook", kWarning, [](auto& p) { p.deployment.object["status"]["updatedReplicas"] = 1; }},
                 {"Webhook", kFailed, [](auto& p) { p.deployment.object["spec"]["replicas"] = 0; }},
                 {"Webhook", kFailed,
                  [](auto& p) {
                    p.deployment.object["status"].erase("readyReplicas");
                    p.troubles["nccl-env-webhook"] = "container webhook cannot start (ImagePullBackOff)";
                  }},
                 {"Webhook", kWarning,
                  [](auto& p) {
                    p.deployment.object["status"]["updatedReplicas"] = 1;
                    p.troubles["nccl-env-webhook"] = "container webhook cannot start (ImagePullBackOff)";
                  }},
                 {"Agents", kWarning, agents(true, false)},
                 {"Agents", kFailed, agents(false, false)},
                 {"Agents", kWarning, status(R"({"observedGeneration": 2, "updatedNumberScheduled": 1})")},
                 {"Agents", kWarning, status(R"({"observedGeneration": 2, "desiredNumberScheduled": 0})")},
                 {"Agents", kWarning, [](auto& p) { p.daemon_set.object.erase("status"); }}});
}

TEST(InstalledParts, NodesWithoutATableAndVersionsThatDifferAreTold) {
  const auto image = [](const char* name) {
    return [name](InstalledParts& p) {
      p.daemon_set.object["spec"]["template"]["spec"]["containers"][0]["image"] = name;
    };
  };
  const auto newer = image("registry.example:5000/nccl-env-agent:v0.2.0@sha256:00"),
             unknown = image("registry.example:5000/nccl-env-agent@sha256:00"),
             no_version = image("registry.example:5000/nccl-env-agent:1");
  const auto by_hand = [](InstalledParts& p) {
    p.agents.items.clear();
    p.tables.items = {{"by-hand", true}};
  };
  expect_judged({{"Tables", kWarning, [](auto& p) { p.tables.items.erase("gpu-2"); }},
                 {"Tables", kFailed, [](auto& p) { p.tables.items.clear(); }},
                 {"Tables", kWarning,
                  [](auto& p) {
                    p.agents.items.clear();
                    p.tables.items.clear();
                  }},
                 {"Tables", kNote, by_hand},
                 {"Tables", kNotSeen, [](auto& p) { p.tables.problem = "HTTP 403"; }},
                 {"Versions", kGood, [](auto&) {}},
                 {"Versions", kWarning, newer},
                 {"Versions", kGood, unknown},
                 {"Versions", kGood, no_version}});
}

// By design the webhook may not make it anew, so a replica that restarts waits for people.
TEST(InstalledParts, ADeletedSecretAndWhatWaitsForItHaveOneCure) {
  InstalledParts parts = healthy();
  parts.secret = kAbsent;
  EXPECT_TRUE(answer_of(judge_parts(parts), "Webhook")->good) << "the pair is in memory";
  parts.deployment.object["status"].erase("readyReplicas");
  for (const char* check : {"Certificate", "Webhook"})
    EXPECT_EQ(answer_of(judge_parts(parts), check)->finding.remedy, kube::kSecretAgain) << check;
  parts.secret = healthy().secret;
  EXPECT_NE(answer_of(judge_parts(parts), "Webhook")->finding.remedy, kube::kSecretAgain);
}

TEST(InstalledParts, ForAMinuteWhatIsNotThereYetIsStarting) {
  const auto webhook_after = [](std::chrono::seconds age, bool in_trouble = false) {
    InstalledParts parts = healthy();
    parts.deployment.object["status"].erase("readyReplicas");
    parts.deployment.object["metadata"]["creationTimestamp"] = format_timestamp(kNow - age);
    if (in_trouble) parts.troubles["nccl-env-webhook"] = "container webhook cannot start (ErrImagePull)";
    return *answer_of(judge_parts(parts), "Webhook");
  };
  using std::chrono::seconds;
  EXPECT_EQ(word(webhook_after(seconds(8))), kWarning);
  EXPECT_EQ(webhook_after(seconds(8)).finding.remedy, "nccl-env check --wait 2m");
  EXPECT_EQ(word(webhook_after(seconds(60))), kFailed);
  EXPECT_EQ(word(webhook_after(seconds(8), true)), kFailed) << "waiting does not help";
  InstalledParts young = healthy();
  young.deployment.object["metadata"]["creationTimestamp"] = format_timestamp(kNow);
  EXPECT_EQ(word(while_starting(young, {Code::Answers, Severity::Info, "none is opted in"})), kNote);
  young.daemon_set = kAbsent;
  EXPECT_EQ(word(*answer_of(judge_parts(young), "Agents")), kFailed) << "no time brings it";
}

// A server may answer anything.
TEST(InstalledParts, StrangeObjectsAreNotGood) {
  for (const char* text : {"{}", R"({"webhooks": 7, "spec": "x", "status": [], "data": 1})",
                           R"({"webhooks": [7], "spec": {"versions": 3, "ports": {}, "template": []}})"}) {
    InstalledParts parts = healthy();
    parts.version.object = Json::parse(text);
    for (const Part part : kInstalled) (parts.*part).object = Json::parse(text);
    for (const char* check :
         {"ApiServer", "Crds", "Hooks", "Validator", "Service", "Certificate", "Webhook", "Agents"})
      EXPECT_FALSE(answer_of(judge_parts(parts), check)->good) << check << text;
  }
}

LookUp space(const char* level, const char* phase = "Active") {
  return seen({{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", level}}}}},
               {"status", {{"phase", phase}}}});
}

Preparation empty_cluster() {
  Preparation facts;
  facts.webhook_space.found = facts.agent_space.found = kAbsent;
  facts.version = seen({{"major", "1"}, {"minor", "30"}, {"gitVersion", "v1.30.0"}});
  facts.rights = {{"namespaces", true}, {"roles.rbac.authorization.k8s.io", true}};
  return facts;
}

TEST(Preparation, AnEmptyClusterIsGoodAndWhatStandsInTheWayIsTold) {
  EXPECT_TRUE(is_good(findings_of(judge_preparation(empty_cluster()))))
      << render_text(judge_preparation(empty_cluster()));
  const auto in = [](const LookUp& namespace_of_ours) {
    return [=](Preparation& p) {
      p.webhook_space.found = space("restricted");
      p.agent_space.found = namespace_of_ours;
    };
  };
  const auto tried = [](const Result<DryRun>& agent) {
    return [=](Preparation& p) {
      p.agent_space.found = space("privileged");
      p.agent = agent;
    };
  };
  const Judged<Preparation> rows[] = {
      {"Namespace", kNote, [](auto&) {}},
      {"Namespace", kGood, in(space("privileged"))},
      {"Namespace", kFailed, in(space("restricted"))},
      {"Namespace", kNote, in(space(""))},
      {"Namespace", kNote,
       [](auto& p) { p.webhook_space.found = p.agent_space.found = space("privileged"); }},
      {"Namespace", kFailed, in(space("privileged", "Terminating"))},
      {"Namespace", kNotSeen, in(kForbidden)},
      {"Rights", kNotSeen, [](auto& p) { p.rights[1].allowed.reset(); }},
      {"Rights", kFailed,
       [](auto& p) {
         p.rights[1].allowed.reset();
         p.rights[0].allowed = false;
       }},
      {"AgentPod", kGood, tried(DryRun{true, Json::object(), Refuser::Other, {}})},
      {"AgentPod", kFailed, tried(DryRun{false, {}, Refuser::PodSecurity, "violates PodSecurity"})},
      {"AgentPod", kNotSeen, tried(DryRun{false, {}, Refuser::Rights, "cannot create resource"})},
      {"AgentPod", kNotSeen, tried(Error{"HTTP 503"})}};
  for (const auto& row : rows) {
    Preparation facts = empty_cluster();
    row.change(facts);
    expect_line(judge_preparation(facts), row.check, row.expected);
  }
}

// A kind that is added to the manifests is added here.
TEST(Preparation, EachKindOfTheManifestsIsAskedFor) {
  std::set<std::string> asked, installed;
  for (const InstalledKind& kind : installed_kinds())
    asked.insert(std::string(kind.group) + "/" + kind.resource);
  for (const char* file :
       {"agent-rbac.yaml", "agent.yaml", "reader-rbac.yaml", "bound-pods.yaml", "hooks.yaml",
        "namespace.yaml", "own-node.yaml", "webhook-rbac.yaml", "webhook.yaml", "crds/ncclpolicies.yaml"}) {
    for (const Json& object : base_objects(file)) {
      const std::string version = object["apiVersion"];
      const std::size_t slash = version.find('/');
      std::string plural = object["kind"];
      for (char& c : plural) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const bool in_y = plural.ends_with('y');
      installed.insert((slash == version.npos ? "" : version.substr(0, slash)) + "/" +
                       (in_y ? plural.substr(0, plural.size() - 1) + "ies"
                             : plural + (plural.ends_with('s') ? "es" : "s")));
    }
  }
  EXPECT_EQ(asked, installed);
}

}  // namespace
}  // namespace nccl_env::cli::installed_parts_test
