// SPDX-License-Identifier: Apache-2.0
#include "check/survey.h"

#include "check/sample_pod.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

LookUp look_up_in(kube::ApiServer& client, const std::string& name_space, const kube::Resource& resource,
                  const std::string& name) {
  return look_up(client, {path_in(name_space, resource, name),
                          "get " + std::string(resource.plural) + " " + name_space + "/" + name});
}

// Everybody may ask: no answer means that there is no cluster to ask.
Result<LookUp> look_up_version(kube::ApiServer& client) {
  const auto reply = client.call({"GET", "/version", "", ""});
  if (!reply) return reply.error();
  if (reply->status != kube::kOk)
    return LookUp{Outcome::Failed, {}, "get /version: " + kube::status_message(*reply)};
  return LookUp{Outcome::Found, parse_json(reply->body), {}};
}

bool is_ready(const Json& pod) {
  for (const Json& condition : member(member(pod, "status"), "conditions")) {
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  }
  return false;
}

SeenByNode<bool> list_agents(kube::ApiServer& client, const std::string& name_space) {
  SeenByNode<bool> agents;
  const auto note = [&](const Json& pod) {
    // While a pod is replaced there are two.
    const std::string node = text_at(member(pod, "spec"), "nodeName");
    if (!node.empty()) agents.items[node] = agents.items[node] || is_ready(pod);
  };
  const Status listed = kube::list_all(
      client,
      kube::by_label(path_in(name_space, kube::kPods), std::string("app.kubernetes.io/name=") + kAgentName),
      note);
  if (!listed) agents.problem = listed.error().message;
  return agents;
}

SeenByNode<std::string> list_tables(kube::ApiServer& client) {
  SeenByNode<std::string> tables;
  const Status listed = kube::list_all(client, path_of(kube::kTables), [&](const Json& table) {
    tables.items[text_at(member(table, "metadata"), "name")] =
        text_at(member(table, "observed"), "agentVersion");
  });
  if (!listed) tables.problem = listed.error().message;
  return tables;
}

// `kind` may stand for all kinds: "*".
std::optional<bool> may_create(kube::ApiServer& client, const InstalledKind& kind,
                               const std::string& name_space) {
  kube::Call call;
  call.method = "POST";
  call.target = path_of(kube::kAccessReviews);
  call.content_type = kube::kJson;
  Json asked{
      {"verb", *kind.group == '*' ? "*" : "create"}, {"group", kind.group}, {"resource", kind.resource}};
  if (kind.namespaced) asked["namespace"] = name_space;
  call.body = Json{{"apiVersion", "authorization.k8s.io/v1"},
                   {"kind", "SelfSubjectAccessReview"},
                   {"spec", {{"resourceAttributes", asked}}}}
                  .dump();
  const auto reply = client.call(call);
  if (!reply || reply->status != kCreated) return std::nullopt;
  const Json review = parse_json(reply->body);
  const Json& allowed = member(member(review, "status"), "allowed");
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

Result<InstalledParts> survey_parts(kube::ApiServer& client, Timestamp now) {
  auto version = look_up_version(client);
  if (!version) return version.error();
  InstalledParts parts;
  parts.now = now;
  parts.version = *std::move(version);
  parts.policy_crd = look_up(client, ask_crd(kPolicyCrd));
  parts.table_crd = look_up(client, ask_crd(kTableCrd));
  parts.mutating = look_up(client, ask_hooks("mutatingwebhookconfigurations"));
  parts.validating = look_up(client, ask_hooks("validatingwebhookconfigurations"));
  for (const LookUp* configuration : {&parts.mutating, &parts.validating}) {
    if (parts.name_space.empty()) parts.name_space = service_namespace(configuration->object);
  }
  if (parts.name_space.empty()) parts.name_space = kOwnNamespace;
  parts.deployment = look_up_in(client, parts.name_space, kube::kDeployments, kWebhookName);
  parts.daemon_set = look_up_in(client, parts.name_space, kube::kDaemonSets, kAgentName);
  if (is_nothing(parts)) return parts;
  parts.service = look_up_in(client, parts.name_space, kube::kServices, kWebhookName);
  parts.secret = look_up_in(client, parts.name_space, kube::kSecrets, kCertificate);
  parts.agents = list_agents(client, parts.name_space);
  parts.tables = list_tables(client);
  return parts;
}

Result<Preparation> survey_preparation(kube::ApiServer& client, const std::string& name_space) {
  auto version = look_up_version(client);
  if (!version) return version.error();
  Preparation facts;
  facts.name_space = name_space;
  facts.version = *std::move(version);
  facts.rights = list_rights(client, name_space);
  facts.policy_crd = look_up(client, ask_crd(kPolicyCrd));
  facts.table_crd = look_up(client, ask_crd(kTableCrd));
  facts.mutating = look_up(client, ask_hooks("mutatingwebhookconfigurations"));
  facts.validating = look_up(client, ask_hooks("validatingwebhookconfigurations"));
  facts.space = look_up(client, ask_namespace(name_space));
  if (facts.space.outcome == Outcome::Found) facts.agent = try_create(client, name_space, sample_agent_pod());
  facts.opted_in = list_opted_in(client);
  return facts;
}

}  // namespace nccl_env::cli
