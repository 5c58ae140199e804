// SPDX-License-Identifier: Apache-2.0
#include "cluster/objects.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

// True if the webhook accepted the policy as it is: then the webhook's --allow-code-paths need not be known.
bool is_accepted(const Json& object) {
  const Json& generation = member(member(object, "metadata"), "generation");
  const Json& conditions = items_at(member(object, "status"), "conditions");
  return !generation.is_null() && std::ranges::any_of(conditions, [&](const Json& each) {
    return text_at(each, "type") == "Accepted" && text_at(each, "status") == "True" &&
           member(each, "observedGeneration") == generation;
  });
}

NodeTable table_in(const Json& object, const std::string& node) {
  auto table = parse_node_fabric(object);
  if (!table) return {false, nullptr, false, "NodeFabric " + node + ": " + table.error().message};
  return {true, std::make_shared<const NodeFabric>(*std::move(table)), false, {}};
}

// Reads the policy that the namespace's label names, or its pods' status; says in `into` what keeps it away.
void take_policy(const std::string& name_space, const std::string& name, const LookUp& read,
                 bool allow_code_paths, NamespacePolicy& into) {
  const bool labelled = into.label && !into.label->empty();
  if (read.outcome == Outcome::Absent) {
    into.problem = Reason::PolicyMissing;
    into.detail = labelled
                      ? "Namespace " + name_space + " names NcclPolicy " + name + ", which does not exist."
                      : "NcclPolicy " + name + " does not exist any more.";
  } else if (read.outcome != Outcome::Found) {
    into.unread.push_back(read.problem + ": what the policy says today");
  } else if (auto policy = parse_policy(read.object, {allow_code_paths || is_accepted(read.object)})) {
    into.policy = std::make_shared<const NcclPolicy>(*std::move(policy));
  } else {
    into.problem = Reason::PolicyInvalid;
    into.detail = "NcclPolicy " + name + " was refused: " + policy.error().message;
  }
}

}  // namespace

// Kinds of ours have their group, as kubectl needs it where another one has the name.
Asked ask(const kube::Resource& resource, const std::string& name) {
  const bool ours = resource.group == kube::kPolicies.group;
  return {path_of(resource, name),
          "get " + std::string(resource.plural) + (ours ? ".nccl-env.io " : " ") + name};
}

Asked ask_in(const std::string& name_space, const kube::Resource& resource, const std::string& name) {
  return {path_in(name_space, resource, name),
          "get " + std::string(resource.plural) + " " + name_space + "/" + name};
}

LookUp look_up(kube::ApiServer& client, const Asked& asked) {
  const auto reply = client.call({"GET", asked.target, "", ""});
  if (!reply) return {Outcome::Failed, {}, reply.error().message};
  if (reply->status == kube::kForbidden) return {Outcome::Forbidden, {}, "not allowed: " + asked.words};
  if (reply->status == kube::kNotFound) return {Outcome::Absent, {}, asked.words + ": there is none"};
  if (reply->status != kube::kOk)
    return {Outcome::Failed, {}, asked.words + ": " + kube::status_message(*reply)};
  LookUp found{Outcome::Found, parse_json(reply->body), {}};
  if (!found.object.is_object()) return {Outcome::Failed, {}, asked.words + ": the answer is not an object"};
  return found;
}

std::string not_installed(kube::ApiServer& client) {
  const auto reply = client.call({"GET", std::string(kube::kPolicies.group), "", ""});
  if (!reply || reply->status != kube::kNotFound) return {};
  return std::string(
             "nccl-env is not installed in this cluster: it knows no ncclpolicies and no nodefabrics") +
         kHowToInstall;
}

program::Failure not_read(kube::ApiServer& client, std::string problem) {
  if (std::string absent = not_installed(client); !absent.empty())
    return {program::kNothing, std::move(absent)};
  return {program::kNotSeen, std::move(problem)};
}

NamespacePolicy read_namespace_policy(kube::ApiServer& client, const std::string& name_space,
                                      const std::string& otherwise, bool allow_code_paths,
                                      KnownObjects* known) {
  KnownObjects own;
  const auto read = [&](const Asked& asked) -> const LookUp& {
    KnownObjects& objects = known ? *known : own;
    if (const auto before = objects.find(asked.target); before != objects.end()) return before->second;
    return objects.emplace(asked.target, look_up(client, asked)).first->second;
  };
  NamespacePolicy found;
  const LookUp& space = read(ask_namespace(name_space));
  if (space.outcome == Outcome::Found) {
    found.label = store::policy_label(space.object);
    found.at_binding = store::is_at_binding(space.object);
  } else {
    found.unread.push_back(space.problem + ": whether the namespace is opted in");
  }
  const bool opted_out = found.label && found.label->empty();
  const std::string name = found.label && !opted_out ? *found.label : otherwise;
  const bool is_name = is_dns_subdomain(name);
  if (!name.empty())
    take_policy(name_space, name,
                is_name ? read(ask(kube::kPolicies, name)) : LookUp{Outcome::Absent, {}, {}},
                allow_code_paths, found);
  if (opted_out) {
    found.problem = Reason::NamespaceNotOptedIn;
    found.detail = "Namespace " + name_space + " has no label nccl-env.io/policy.";
  }
  const bool none = opted_out || (found.problem == Reason::PolicyMissing && is_name);
  if (const std::string absent = none ? not_installed(client) : std::string(); !absent.empty())
    found.detail += " And " + absent + ".";
  return found;
}

Result<std::vector<std::string>> list_opted_in(kube::ApiServer& client, KnownObjects* known) {
  std::vector<std::string> names;
  const std::string path = kube::by_label(path_of(kube::kNamespaces), key::kPolicyLabel);
  const Status listed = kube::list_all(client, path, [&](const Json& some) {
    names.push_back(text_at(member(some, "metadata"), "name"));
    if (known) (*known)[ask_namespace(names.back()).target] = {LookUp::Outcome::Found, some, {}};
  });
  if (!listed) return listed.error();
  return names;
}

NodeTable read_node_table(kube::ApiServer& client, const std::string& node) {
  if (!is_dns_subdomain(node)) return {false, nullptr, false, "'" + node + "' is not a node's name"};
  const LookUp found = look_up(client, ask(kube::kTables, node));
  if (found.outcome == Outcome::Absent) return {true, nullptr, false, {}};
  if (found.outcome != Outcome::Found)
    return {false, nullptr, found.outcome == Outcome::Forbidden, found.problem};
  return table_in(found.object, node);
}

Status list_node_tables(kube::ApiServer& client, std::map<std::string, NodeTable>& into) {
  return kube::list_all(client, path_of(kube::kTables), [&](const Json& object) {
    const std::string node = text_at(object.at("metadata"), "name");
    into.try_emplace(node, table_in(object, node));
  });
}

// The kubelet reads a file; between two pieces there is nothing that takes long.
constexpr std::chrono::seconds kIdle{20};

Result<bool> read_pod_log(kube::ApiServer& client, const PodName& pod, const std::string& container,
                          const PodLogOptions& options,
                          const std::function<void(std::string_view part)>& on_part) {
  const std::uint64_t limit = static_cast<std::uint64_t>(options.limit_mib) << 20;
  std::string target = ask_pod(pod.name_space, pod.name).target +
                       "/log?container=" + kube::escaped(container) + "&limitBytes=" + std::to_string(limit);
  if (options.tail > 0) target += "&tailLines=" + std::to_string(options.tail);
  if (options.previous) target += "&previous=true";
  std::uint64_t received = 0;
  const auto reply = client.stream_parts(target, kIdle, [&](std::string_view part) {
    // The limit holds for a server that does not know it, too.
    part = part.substr(0, limit - std::min(limit, received));
    received += part.size();
    on_part(part);
    return received < limit;
  });
  if (!reply) return Error{pod.text() + ", its log: " + reply.error().message};
  if (reply->status != kube::kOk) return Error{pod.text() + ": " + kube::status_message(*reply)};
  return received >= limit;
}

std::string_view to_string(Refuser refuser) {
  constexpr std::array<std::string_view, 9> kNames{"a ResourceQuota",
                                                   "a LimitRange",
                                                   "Pod Security",
                                                   "a ValidatingAdmissionPolicy",
                                                   "nccl-env, whose webhook does not answer",
                                                   "an admission webhook",
                                                   "the API server, for want of your rights",
                                                   "the API server's validation",
                                                   "the API server"};
  return name_in(kNames, refuser);
}

// The sentences are those of Kubernetes 1.30 to 1.36 (plugin/pkg/admission, apiserver/pkg/admission).
Refuser refuser_of(int status, std::string_view message) {
  const auto holds = [&](std::string_view part) { return message.find(part) != message.npos; };
  if (holds("failed calling webhook \"strict-pods.nccl-env.io\"")) return Refuser::Silence;
  if (holds("admission webhook \"") || holds("failed calling webhook")) return Refuser::Webhook;
  if (holds("ValidatingAdmissionPolicy '")) return Refuser::Policy;
  if (holds("violates PodSecurity")) return Refuser::PodSecurity;
  if (holds("exceeded quota") || holds("failed quota")) return Refuser::Quota;
  const bool forbidden = status == kube::kForbidden;
  if (forbidden && (holds(" usage per ") || holds("limit to request ratio per "))) return Refuser::LimitRange;
  if (forbidden && holds(" cannot create resource ")) return Refuser::Rights;
  return status == kUnprocessable ? Refuser::Validation : Refuser::Other;
}

Result<DryRun> try_create(kube::ApiServer& client, const std::string& name_space, const nlohmann::json& pod) {
  constexpr int kUnauthorized = 401, kServerError = 500;
  const auto reply =
      client.call({"POST", path_in(name_space, kube::kPods) + "?dryRun=All", kube::kJson, pod.dump(),
                   std::chrono::seconds(60)});  // several webhooks may take up to 30 s each
  const std::string what = "dry run of a pod in " + name_space + ": ";
  if (!reply) return Error{what + reply.error().message};
  if (reply->status == kCreated) {
    DryRun tried{true, parse_json(reply->body), Refuser::Other, {}};
    if (!tried.pod.is_object()) return Error{what + "the answer is not an object"};
    return tried;
  }
  const std::string message = kube::status_message(*reply), said = kube::servers_word(*reply);
  const std::string sentence = said.empty() ? message : said;
  const Refuser refuser = refuser_of(reply->status, sentence);
  if (refuser == Refuser::Other && (reply->status > kServerError || reply->status == kUnauthorized))
    return Error{what + message};
  return DryRun{false, {}, refuser, sentence};
}

}  // namespace nccl_env::cli
