// SPDX-License-Identifier: Apache-2.0
// Reads single objects of a cluster, with the caller's own rights: "forbidden" is an answer, too.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::cli {

struct LookUp {
  enum class Outcome { Found, Absent, Forbidden, Failed } outcome = Outcome::Failed;
  nlohmann::json object;  // Found
  std::string problem;    // else: one sentence
};

// An object as a path and in words: "get pods ml/train-0".
struct Asked {
  std::string target;
  std::string words;
};
Asked ask_pod(const std::string& name_space, const std::string& name);
Asked ask_namespace(const std::string& name);
Asked ask_policy(const std::string& name);
Asked ask_table(const std::string& node);
// `plural`: mutatingwebhookconfigurations or validatingwebhookconfigurations; the one called nccl-env.
Asked ask_hooks(const std::string& plural);
Asked ask_crd(const std::string& name);
inline constexpr const char* kPolicyCrd = "ncclpolicies.nccl-env.io";
inline constexpr const char* kTableCrd = "nodefabrics.nccl-env.io";

// Names have to be is_dns_subdomain(), so that they cannot change the path.
LookUp look_up(kube::ApiServer& client, const Asked& asked);

// The policy that a namespace follows, each part as far as it could be read; `unread` has a sentence for each
// part that could not.
struct NamespacePolicy {
  std::optional<std::string> label;  // "": the namespace has none
  bool at_binding = false;           // another label of it keeps our init container away
  std::shared_ptr<const NcclPolicy> policy;
  std::optional<Reason> problem;  // NamespaceNotOptedIn, PolicyMissing, PolicyInvalid
  std::string detail;
  std::vector<std::string> unread;
};

// By Asked::target: objects that were listed or read before.
using KnownObjects = std::map<std::string, LookUp>;
// Namespaces with the policy label. They are added to `known`, where it is given.
Result<std::vector<std::string>> list_opted_in(kube::ApiServer& client, KnownObjects* known = nullptr);

// `otherwise`: the policy to read where the label cannot be read or is not there; "": none. Objects are added
// to `known` when they are read, and not read again.
NamespacePolicy read_namespace_policy(kube::ApiServer& client, const std::string& name_space,
                                      const std::string& otherwise, bool allow_code_paths,
                                      KnownObjects* known = nullptr);

// The table of a node: null and no sentence if there is none. `known` is false where it could not be read.
struct NodeTable {
  bool known = false;
  std::shared_ptr<const NodeFabric> table;
  bool forbidden = false;
  std::string problem;
};
NodeTable read_node_table(kube::ApiServer& client, const std::string& node);
// Adds all tables of the cluster; tables that `into` already has stay.
Status list_node_tables(kube::ApiServer& client, std::map<std::string, NodeTable>& into);

}  // namespace nccl_env::cli
