// SPDX-License-Identifier: Apache-2.0
// Reads single objects of a cluster, with the caller's own rights: "forbidden" is an answer, too.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/paths.h"
#include "nccl_env/program/terminal.h"
#include "nccl_env/result.h"

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
Asked ask(const kube::Resource& resource, const std::string& name);
Asked ask_in(const std::string& name_space, const kube::Resource& resource, const std::string& name);
inline Asked ask_pod(const std::string& name_space, const std::string& name) {
  return ask_in(name_space, kube::kPods, name);
}
inline Asked ask_namespace(const std::string& name) {
  return ask(kube::kNamespaces, name);
}
inline Asked ask_node(const std::string& name) {
  return ask(kube::kNodes, name);
}
// Each has one called nccl-env.
inline constexpr kube::Resource kMutatingHooks{kube::kHookGroup, "mutatingwebhookconfigurations"},
    kValidatingHooks{kube::kHookGroup, "validatingwebhookconfigurations"};
inline constexpr const char* kPolicyCrd = "ncclpolicies.nccl-env.io";
inline constexpr const char* kTableCrd = "nodefabrics.nccl-env.io";

// Names have to be is_dns_subdomain(), so that they cannot change the path.
LookUp look_up(kube::ApiServer& client, const Asked& asked);

// A cluster that does not know the kinds of our objects, as a sentence; "" where it knows them, and where
// that cannot be told.
std::string not_installed(kube::ApiServer& client);
inline constexpr const char* kHowToInstall =
    " (docs/operate/install.md; `nccl-env check --pre` tells whether it can be)";

// Objects of ours could not be read, or are not there, as `problem` says: kNothing where nothing is
// installed.
program::Failure not_read(kube::ApiServer& client, std::string problem);

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

struct PodName {
  std::string name_space;
  std::string name;

  [[nodiscard]] std::string text() const { return "pod " + name_space + "/" + name; }
};

struct PodLogOptions {
  bool previous = false;  // of the container before its last restart
  int tail = 0;           // lines from the end; 0: from the beginning
  int limit_mib = 64;     // 500 000 lines: NCCL's important lines are in the first few thousand
};

// Passes a log on piece by piece; true if the limit ended it. Needs get of pods/log, which Kubernetes'
// ClusterRole view has.
Result<bool> read_pod_log(kube::ApiServer& client, const PodName& pod, const std::string& container,
                          const PodLogOptions& options,
                          const std::function<void(std::string_view part)>& on_part);

// HTTP statuses of a create.
inline constexpr int kCreated = 201, kUnprocessable = 422;

// The party that refuses a pod, by the form of the API server's sentence.
enum class Refuser {
  Quota,        // ResourceQuota
  LimitRange,   //
  PodSecurity,  //
  Policy,       // a ValidatingAdmissionPolicy
  Silence,      // nccl-env's hook of strict namespaces, which got no answer
  Webhook,      // another one, such as an image policy's, which refuses or is not there
  Rights,       // the caller has no right to create pods
  Validation,   // the pod's form
  Other,
};
std::string_view to_string(Refuser refuser);  // "a ResourceQuota"

struct DryRun {
  bool admitted = false;
  nlohmann::json pod;                // as it would be, if it is admitted
  Refuser refuser = Refuser::Other;  // else
  std::string sentence;              // the API server's, if it is not admitted
};

Refuser refuser_of(int status, std::string_view message);

// Tries to create the pod (dryRun=All), with the caller's own rights. An error only where the API server gave
// no answer to the question.
Result<DryRun> try_create(kube::ApiServer& client, const std::string& name_space, const nlohmann::json& pod);

}  // namespace nccl_env::cli
