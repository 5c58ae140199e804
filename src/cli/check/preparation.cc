// SPDX-License-Identifier: Apache-2.0
#include "check/preparation.h"

#include "check/namespace_check.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

constexpr const char* kPrivileged = "pod-security.kubernetes.io/enforce";

Judged judge_rights(const std::vector<CreateRight>& rights) {
  std::vector<std::string> denied, unknown;
  for (const CreateRight& right : rights) {
    if (!right.allowed.value_or(true)) denied.push_back(right.resource);
    if (!right.allowed) unknown.push_back(right.resource);
  }
  if (!denied.empty())
    return {Severity::Error, "you may not create " + join(denied),
            "Install as somebody who may: kubectl auth can-i create " + denied.front()};
  if (!unknown.empty()) return {Sight::NotSeen, "no answer whether you may create " + join(unknown)};
  return {Sight::Good, "you may create all that the manifests have"};
}

Judged judge_space(const Preparation& facts) {
  const std::string& name = facts.name_space;
  const std::string label = "kubectl label namespace " + name + " --overwrite " + kPrivileged + "=privileged";
  if (facts.space.outcome == Outcome::Absent)
    return {Severity::Info, "there is no namespace " + name + " yet",
            "The manifests make it with the label " + std::string(kPrivileged) +
                "=privileged, which the agent needs; after helm install --create-namespace: " + label};
  if (facts.space.outcome != Outcome::Found) return {Sight::NotSeen, facts.space.problem};
  const Json& object = facts.space.object;
  if (text_at(member(object, "status"), "phase") == "Terminating")
    return {Severity::Error, "namespace " + name + " is being removed", "Wait until it is gone."};
  const std::string level = text_at(member(member(object, "metadata"), "labels"), kPrivileged);
  if (!level.empty() && level != "privileged")
    return {Severity::Error,
            "Pod Security of namespace " + name + " enforces " + level +
                ": the agent needs the host's network and /sys",
            label};
  return {Sight::Good, "namespace " + name + (level.empty() ? "" : ", Pod Security " + level)};
}

Judged judge_agent_pod(const Result<DryRun>& tried, const std::string& name_space) {
  if (!tried) return {Sight::NotSeen, tried.error().message};
  if (tried->admitted) return {Sight::Good, "a pod with the host's network and /sys is admitted (dry run)"};
  if (tried->refuser == Refuser::Rights) return {Sight::NotSeen, tried->sentence};
  return {
      Severity::Error,
      "a pod as the agent's is refused by " + std::string(to_string(tried->refuser)) + ": " + tried->sentence,
      "Allow pods of namespace " + name_space + " the host's network and the hostPath /sys."};
}

// `kind` may stand for all kinds: "*".
std::optional<bool> may_create(kube::ApiServer& client, const InstalledKind& kind,
                               const std::string& name_space) {
  Json asked{
      {"verb", *kind.group == '*' ? "*" : "create"}, {"group", kind.group}, {"resource", kind.resource}};
  if (kind.namespaced) asked["namespace"] = name_space;
  const Json question{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", {{"resourceAttributes", asked}}}};
  const auto reply = client.call({"POST", path_of(kube::kAccessReviews), kube::kJson, question.dump()});
  if (!reply || reply->status != kCreated) return std::nullopt;
  const Json review = parse_json(reply->body), allowed = member(member(review, "status"), "allowed");
  return allowed.is_boolean() ? std::optional(allowed.get<bool>()) : std::nullopt;
}

std::vector<CreateRight> list_rights(kube::ApiServer& client, const std::string& name_space) {
  std::vector<CreateRight> rights;
  const bool all = may_create(client, {"*", "*", false}, "").value_or(false);  // one question instead of many
  for (const InstalledKind& kind : installed_kinds()) {
    const std::string name = kind.resource + std::string(*kind.group == '\0' ? "" : ".") + kind.group;
    rights.push_back({name, all ? std::optional(true) : may_create(client, kind, name_space)});
  }
  return rights;
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

Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space) {
  Preparation facts;
  if (const Status seen = survey_cluster(client, facts); !seen) return seen.error();
  facts.name_space = name_space;
  facts.rights = list_rights(client, name_space);
  facts.space = look_up(client, ask_namespace(name_space));
  if (facts.space.outcome == Outcome::Found) facts.agent = try_create(client, name_space, sample_agent_pod());
  return facts;
}

Checks judge_preparation(const Preparation& facts) {
  Checks lines{{Code::ApiServer, judge_version(facts.version)},
               {Code::Rights, judge_rights(facts.rights)},
               {Code::Names, judge_names(facts)},
               {Code::Namespace, judge_space(facts)}};
  if (facts.agent) lines.push_back({Code::AgentPod, judge_agent_pod(*facts.agent, facts.name_space)});
  return lines;
}

}  // namespace nccl_env::cli
