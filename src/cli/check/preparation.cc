// SPDX-License-Identifier: Apache-2.0
#include "check/preparation.h"

#include "check/installed_parts.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

constexpr std::size_t kMostSpacesNamed = 5;
constexpr const char* kPrivileged = "pod-security.kubernetes.io/enforce";

Checked judge_rights(const std::vector<CreateRight>& rights) {
  constexpr Code kCheck = Code::Rights;
  std::vector<std::string> denied, unknown;
  for (const CreateRight& right : rights) {
    if (!right.allowed.value_or(true)) denied.push_back(right.resource);
    if (!right.allowed) unknown.push_back(right.resource);
  }
  if (!denied.empty())
    return {kCheck, Severity::Error, "you may not create " + join(denied),
            "Install as somebody who may: kubectl auth can-i create " + denied.front()};
  if (!unknown.empty())
    return {kCheck, Sight::NotSeen, "whether you may create " + join(unknown) + " was not answered"};
  return {kCheck, Sight::Good, "you may create all that the manifests have"};
}

bool is_ours(const Json& object) {
  return text_at(member(member(object, "metadata"), "labels"), "app.kubernetes.io/part-of") == "nccl-env";
}

// Judges whether the names of our cluster-wide objects are free or ours.
Checked judge_names(const Preparation& facts) {
  constexpr Code kCheck = Code::Names;
  struct Named {
    const LookUp& sight;
    std::string name;
    const char* kind;  // of a CRD; "": of a webhook configuration
  };
  const Named all[] = {
      {facts.policy_crd, std::string("CustomResourceDefinition ") + kPolicyCrd, "NcclPolicy"},
      {facts.table_crd, std::string("CustomResourceDefinition ") + kTableCrd, "NodeFabric"},
      {facts.mutating, "MutatingWebhookConfiguration nccl-env", ""},
      {facts.validating, "ValidatingWebhookConfiguration nccl-env", ""}};
  std::vector<std::string> there;
  for (const auto& [sight, name, kind] : all) {
    if (sight.outcome == Outcome::Absent) continue;
    if (sight.outcome != Outcome::Found) return {kCheck, Sight::NotSeen, sight.problem};
    const std::string found = text_at(member(member(sight.object, "spec"), "names"), "kind");
    if (*kind == '\0' ? !is_ours(sight.object) : found != kind)
      return {kCheck, Severity::Error, name + " is there and is not nccl-env's",
              "Find out whose it is, and remove or rename it."};
    there.push_back(name);
  }
  if (there.empty()) return {kCheck, Sight::Good, "nobody has the names of our cluster-wide objects"};
  return {kCheck, Severity::Info, "there already: " + join(there),
          "This is an upgrade: docs/operate/upgrade.md."};
}

Checked judge_space(const Preparation& facts) {
  constexpr Code kCheck = Code::Namespace;
  const std::string& name = facts.name_space;
  const std::string label = "kubectl label namespace " + name + " --overwrite " + kPrivileged + "=privileged";
  if (facts.space.outcome == Outcome::Absent)
    return {kCheck, Severity::Info, "there is no namespace " + name + " yet",
            "The manifests make it with the label " + std::string(kPrivileged) +
                "=privileged, which the agent needs; after helm install --create-namespace: " + label};
  if (facts.space.outcome != Outcome::Found) return {kCheck, Sight::NotSeen, facts.space.problem};
  const Json& object = facts.space.object;
  if (text_at(member(object, "status"), "phase") == "Terminating")
    return {kCheck, Severity::Error, "namespace " + name + " is being removed", "Wait until it is gone."};
  const std::string level = text_at(member(member(object, "metadata"), "labels"), kPrivileged);
  if (!level.empty() && level != "privileged")
    return {kCheck, Severity::Error,
            "Pod Security of namespace " + name + " enforces " + level +
                ": the agent needs the host's network and /sys",
            label};
  return {kCheck, Sight::Good, "namespace " + name + (level.empty() ? "" : ", Pod Security " + level)};
}

std::optional<Checked> judge_agent_pod(const Preparation& facts) {
  constexpr Code kCheck = Code::AgentPod;
  if (!facts.agent) return std::nullopt;
  const Result<DryRun>& tried = *facts.agent;
  if (!tried) return Checked{kCheck, Sight::NotSeen, tried.error().message};
  if (tried->admitted)
    return Checked{kCheck, Sight::Good, "a pod with the host's network and /sys is admitted (dry run)"};
  if (tried->refuser == Refuser::Rights) return Checked{kCheck, Sight::NotSeen, tried->sentence};
  return Checked{
      kCheck, Severity::Error,
      "a pod as the agent's is refused by " + std::string(to_string(tried->refuser)) + ": " + tried->sentence,
      "Allow pods of namespace " + facts.name_space + " the host's network and the hostPath /sys."};
}

Checked judge_opted_in(const Result<std::vector<std::string>>& spaces) {
  constexpr Code kCheck = Code::OptedIn;
  if (!spaces) return {kCheck, Sight::NotSeen, spaces.error().message};
  if (spaces->empty()) return {kCheck, Sight::Good, "no namespace: installing changes no pod"};
  return {kCheck, Severity::Info,
          "new pods get values once it is installed in " + join_some(*spaces, kMostSpacesNamed)};
}

}  // namespace

const std::vector<InstalledKind>& installed_kinds() {
  static const std::vector<InstalledKind> kKinds{
      {"", "namespaces", false},
      {"apiextensions.k8s.io", "customresourcedefinitions", false},
      {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", false},
      {"admissionregistration.k8s.io", "validatingwebhookconfigurations", false},
      {"admissionregistration.k8s.io", "validatingadmissionpolicies", false},
      {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", false},
      {"rbac.authorization.k8s.io", "clusterroles", false},
      {"rbac.authorization.k8s.io", "clusterrolebindings", false},
      {"scheduling.k8s.io", "priorityclasses", false},
      {"rbac.authorization.k8s.io", "roles", true},
      {"rbac.authorization.k8s.io", "rolebindings", true},
      {"", "serviceaccounts", true},
      {"", "secrets", true},
      {"", "services", true},
      {"apps", "deployments", true},
      {"apps", "daemonsets", true},
      {"policy", "poddisruptionbudgets", true},
      {"networking.k8s.io", "networkpolicies", true},
  };
  return kKinds;
}

Checks judge_preparation(const Preparation& facts) {
  Checks lines{judge_version(facts.version), judge_rights(facts.rights), judge_names(facts),
               judge_space(facts)};
  if (auto line = judge_agent_pod(facts)) lines.push_back(*std::move(line));
  lines.push_back(judge_opted_in(facts.opted_in));
  return lines;
}

}  // namespace nccl_env::cli
