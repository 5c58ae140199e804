// SPDX-License-Identifier: Apache-2.0
// Lines on a cluster before nccl-env is installed there.
#include "check/preparation.h"

#include <gmock/gmock.h>

#include <set>

#include "cli/installed_objects.h"
#include "support/golden.h"

namespace nccl_env::cli::preparation_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

const LookUp kAbsent{LookUp::Outcome::Absent, {}, "get x: there is none"};
const LookUp kForbidden{LookUp::Outcome::Forbidden, {}, "not allowed: get x"};

LookUp seen(const Json& object) {
  return {LookUp::Outcome::Found, object, {}};
}

LookUp space(const char* level, const char* phase = "Active") {
  return seen({{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", level}}}}},
               {"status", {{"phase", phase}}}});
}

Preparation empty_cluster() {
  Preparation facts;
  facts.name_space = "nccl-env";
  facts.version = seen({{"major", "1"}, {"minor", "30"}, {"gitVersion", "v1.30.0"}});
  facts.rights = {{"namespaces", true}, {"roles.rbac.authorization.k8s.io", true}};
  facts.policy_crd = facts.table_crd = facts.mutating = facts.validating = facts.space = kAbsent;
  return facts;
}

void expect_line(const Preparation& facts, std::string_view check, const std::string& expected) {
  for (const auto& [finding, good] : judge_preparation(facts)) {
    if (to_string(finding.code) != check) continue;
    EXPECT_EQ(good ? "good" : to_string(finding.severity), expected) << check << ": " << finding.sentence;
    expect_golden(std::string(check) + " " + expected, finding.sentence);
    return;
  }
  ADD_FAILURE() << "there is no line " << check;
}

const std::string kGood = "good", kNote = "info", kFailed = "error", kNotSeen = "warning";

TEST(Preparation, AnEmptyClusterIsGood) {
  EXPECT_TRUE(is_good(findings_of(judge_preparation(empty_cluster()))))
      << render_text(judge_preparation(empty_cluster()));
  expect_line(empty_cluster(), "Namespace", kNote);
}

TEST(Preparation, MissingRightsAreNamed) {
  Preparation facts = empty_cluster();
  facts.rights[1].allowed.reset();
  expect_line(facts, "Rights", kNotSeen);
  facts.rights[0].allowed = false;
  expect_line(facts, "Rights", kFailed);
}

TEST(Preparation, ForeignObjectsOfOurNamesAreTold) {
  Preparation facts = empty_cluster();
  const auto objects = installed_objects(std::chrono::system_clock::now());
  facts.mutating = seen(objects.at(kHooksPath));
  facts.policy_crd = seen(objects.at(kCrdPath + "ncclpolicies.nccl-env.io"));
  expect_line(facts, "Names", kNote);
  facts.mutating.object["metadata"].erase("labels");
  expect_line(facts, "Names", kFailed);
  facts.policy_crd.object["spec"]["names"]["kind"] = "Other";
  expect_line(facts, "Names", kFailed);
  facts.policy_crd = kForbidden;
  expect_line(facts, "Names", kNotSeen);
}

TEST(Preparation, TheNamespaceHasToTakeTheAgent) {
  Preparation facts = empty_cluster();
  facts.space = space("privileged");
  expect_line(facts, "Namespace", kGood);
  facts.space = space("restricted");
  expect_line(facts, "Namespace", kFailed);
  facts.space = space("privileged", "Terminating");
  expect_line(facts, "Namespace", kFailed);
  facts.space = kForbidden;
  expect_line(facts, "Namespace", kNotSeen);
}

TEST(Preparation, ADryRunTellsWhoRefusesTheAgent) {
  Preparation facts = empty_cluster();
  facts.space = space("privileged");
  facts.agent = DryRun{true, Json::object(), Refuser::Other, {}};
  expect_line(facts, "AgentPod", kGood);
  facts.agent = DryRun{false, {}, Refuser::PodSecurity, "violates PodSecurity"};
  expect_line(facts, "AgentPod", kFailed);
  facts.agent = DryRun{false, {}, Refuser::Rights, "cannot create resource"};
  expect_line(facts, "AgentPod", kNotSeen);
  facts.agent = Error{"HTTP 503"};
  expect_line(facts, "AgentPod", kNotSeen);
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
}  // namespace nccl_env::cli::preparation_test
