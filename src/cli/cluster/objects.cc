// SPDX-License-Identifier: Apache-2.0
#include "cluster/objects.h"

#include <algorithm>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/policy/reader.h"
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

class PolicyReader {
 public:
  PolicyReader(kube::ApiServer& client, const std::string& name_space, KnownObjects* known)
      : client_(client), name_space_(name_space), known_(known ? *known : own_) {}

  NamespacePolicy read(const std::string& otherwise, bool allow_code_paths) {
    read_label();
    const std::string name = found_.label && !found_.label->empty() ? *found_.label : otherwise;
    if (!name.empty()) read_policy(name, allow_code_paths);
    if (found_.label && found_.label->empty()) {
      found_.problem = Reason::NamespaceNotOptedIn;
      found_.detail = "Namespace " + name_space_ + " has no label nccl-env.io/policy.";
    }
    return std::move(found_);
  }

 private:
  const LookUp& look_up_once(const Asked& asked) {
    const auto before = known_.find(asked.target);
    return before != known_.end() ? before->second
                                  : known_.emplace(asked.target, look_up(client_, asked)).first->second;
  }

  void read_label() {
    const LookUp& space = look_up_once(ask_namespace(name_space_));
    if (space.outcome == Outcome::Found) {
      found_.label = store::policy_label(space.object);
      found_.at_binding = store::is_at_binding(space.object);
    } else {
      found_.unread.push_back(space.problem + ": whether the namespace is opted in");
    }
  }

  void problem(Reason reason, std::string detail) {
    found_.problem = reason;
    found_.detail = std::move(detail);
  }

  void read_policy(const std::string& name, bool allow_code_paths) {
    const bool labelled = found_.label && !found_.label->empty();
    const std::string missing =
        (labelled ? "Namespace " + name_space_ + " names NcclPolicy " + name : "NcclPolicy " + name) +
        (labelled ? ", which does not exist." : " does not exist any more.");
    if (!is_dns_subdomain(name)) return problem(Reason::PolicyMissing, missing);
    const LookUp& found = look_up_once(ask_policy(name));
    if (found.outcome == Outcome::Absent) return problem(Reason::PolicyMissing, missing);
    if (found.outcome != Outcome::Found) {
      found_.unread.push_back(found.problem + ": what the policy says today");
      return;
    }
    auto policy = parse_policy(found.object, {allow_code_paths || is_accepted(found.object)});
    if (!policy)
      return problem(Reason::PolicyInvalid, "NcclPolicy " + name + " was refused: " + policy.error().message);
    found_.policy = std::make_shared<const NcclPolicy>(*std::move(policy));
  }

  kube::ApiServer& client_;
  const std::string name_space_;
  KnownObjects own_;
  KnownObjects& known_;
  NamespacePolicy found_;
};

}  // namespace

Asked ask_pod(const std::string& name_space, const std::string& name) {
  return {path_in(name_space, kube::kPods, name), "get pods " + name_space + "/" + name};
}

Asked ask_namespace(const std::string& name) {
  return {path_of(kube::kNamespaces, name), "get namespaces " + name};
}

Asked ask_policy(const std::string& name) {
  return {path_of(kube::kPolicies, name), "get ncclpolicies.nccl-env.io " + name};
}

Asked ask_table(const std::string& node) {
  return {path_of(kube::kTables, node), "get nodefabrics.nccl-env.io " + node};
}

Asked ask_hooks(const std::string& plural) {
  return {kube::path_of({kube::kHookGroup, plural}, "nccl-env"), "get " + plural + " nccl-env"};
}

Asked ask_crd(const std::string& name) {
  return {path_of(kube::kCrds, name), "get customresourcedefinitions " + name};
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

NamespacePolicy read_namespace_policy(kube::ApiServer& client, const std::string& name_space,
                                      const std::string& otherwise, bool allow_code_paths,
                                      KnownObjects* known) {
  return PolicyReader(client, name_space, known).read(otherwise, allow_code_paths);
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
  const LookUp found = look_up(client, ask_table(node));
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

}  // namespace nccl_env::cli
