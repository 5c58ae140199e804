// SPDX-License-Identifier: Apache-2.0
#include "check/preparation.h"

#include <set>

#include "check/namespace_check.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

Judged judge_rights(const std::vector<CreateRight>& rights) {
  std::set<std::string> denied, unknown;  // a kind may be asked for in both namespaces
  for (const CreateRight& right : rights) {
    if (!right.allowed.value_or(true)) denied.insert(right.resource);
    if (!right.allowed) unknown.insert(right.resource);
  }
  if (!denied.empty())
    return {Severity::Error, "you may not create " + join(denied),
            "Install as somebody who may: kubectl auth can-i create " + *denied.begin()};
  if (!unknown.empty()) return {Sight::NotSeen, "no answer whether you may create " + join(unknown)};
  return {Sight::Good, "you may create all that the manifests have"};
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
                               const InstalledParts& parts) {
  Json asked{
      {"verb", *kind.group == '*' ? "*" : "create"}, {"group", kind.group}, {"resource", kind.resource}};
  if (kind.space) asked["namespace"] = (parts.*kind.space).name;
  const Json question{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", {{"resourceAttributes", asked}}}};
  const auto reply = client.call({"POST", path_of(kube::kAccessReviews), kube::kJson, question.dump()});
  if (!reply || reply->status != kCreated) return std::nullopt;
  const Json review = parse_json(reply->body), allowed = member(member(review, "status"), "allowed");
  return allowed.is_boolean() ? std::optional(allowed.get<bool>()) : std::nullopt;
}

std::vector<CreateRight> list_rights(kube::ApiServer& client, const InstalledParts& parts) {
  std::vector<CreateRight> rights;
  const bool all = may_create(client, {"*", "*"}, parts).value_or(false);  // one question instead of many
  for (const InstalledKind& kind : installed_kinds()) {
    const std::string name = kind.resource + std::string(*kind.group == '\0' ? "" : ".") + kind.group;
    rights.push_back({name, all ? std::optional(true) : may_create(client, kind, parts)});
  }
  return rights;
}

}  // namespace

const std::vector<InstalledKind>& installed_kinds() {
  constexpr auto kOwn = &InstalledParts::webhook_space, kAgents = &InstalledParts::agent_space;
  static const std::vector<InstalledKind> kKinds{
      {"", "namespaces"},
      {"apiextensions.k8s.io", "customresourcedefinitions"},
      {"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
      {"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
      {"admissionregistration.k8s.io", "validatingadmissionpolicies"},
      {"admissionregistration.k8s.io", "validatingadmissionpolicybindings"},
      {"rbac.authorization.k8s.io", "clusterroles"},
      {"rbac.authorization.k8s.io", "clusterrolebindings"},
      {"scheduling.k8s.io", "priorityclasses"},
      {"rbac.authorization.k8s.io", "roles", kOwn},
      {"rbac.authorization.k8s.io", "rolebindings", kOwn},
      {"", "serviceaccounts", kOwn},
      {"", "serviceaccounts", kAgents},
      {"", "secrets", kOwn},
      {"", "services", kOwn},
      {"apps", "deployments", kOwn},
      {"apps", "daemonsets", kAgents},
      {"policy", "poddisruptionbudgets", kOwn},
      {"networking.k8s.io", "networkpolicies", kOwn},
  };
  return kKinds;
}

Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space) {
  Preparation facts;
  if (const Status seen = survey_version(client, facts); !seen) return seen.error();
  if (!name_space.empty()) facts.webhook_space.name = name_space;
  facts.agent_space.name = agent_namespace(client, facts.agent_space.name);
  facts.rights = list_rights(client, facts);
  for (OwnSpace* space : {&facts.webhook_space, &facts.agent_space})
    space->found = look_up(client, ask_namespace(space->name));
  if (facts.agent_space.found.outcome == Outcome::Found)
    facts.agent = try_create(client, facts.agent_space.name, sample_agent_pod());
  return facts;
}

Checks judge_preparation(const Preparation& facts) {
  Checks lines{{Code::ApiServer, judge_version(facts.version)},
               {Code::Rights, judge_rights(facts.rights)},
               {Code::Namespace, judge_space(facts.webhook_space)},
               {Code::Namespace, judge_space(facts.agent_space)}};
  if (facts.agent) lines.push_back({Code::AgentPod, judge_agent_pod(*facts.agent, facts.agent_space.name)});
  return lines;
}

}  // namespace nccl_env::cli
