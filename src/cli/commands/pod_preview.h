// SPDX-License-Identifier: Apache-2.0
// Previews the answer that a pod of a file would get, from other files.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/objects.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/explain/template_answer.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {

struct PodTemplate {
  std::string object;      // KIND/NAME of the object that holds it; "" if it has none
  std::string path;        // spec.pytorchReplicaSpecs.Master.template; "" for a bare Pod
  std::string name_space;  // of the object that holds it; "" if it says none
  nlohmann::json pod;      // metadata and spec
  // The place of `pod` in its document; absent where it was made of something else that stands there.
  std::optional<nlohmann::json::json_pointer> place;
};

// A file with more is refused.
inline constexpr std::size_t kMaxTemplates = 1000;

// Returns them in the document's order; at most one more than kMaxTemplates.
//
// A map with a list `containers` of objects is a pod's spec. Where it is the `spec` of a Pod or a template,
// the metadata beside it is the pod's. Elsewhere the pod's labels and annotations are in that map itself, as
// in KServe's runtimes.
std::vector<PodTemplate> find_pod_templates(const nlohmann::json& document);

// True where objects are nested deeper than pods are looked for.
bool is_too_deep(const nlohmann::json& value, int depth = 0);

// Returns the names of objects that hold no pod: "Service/llama"; in a List each item is an object. At most
// kMaxTemplates. Claims, which are read with pods, are not among them.
std::vector<std::string> objects_without_pods(const nlohmann::json& document);

// The claims of pods, from files: by kind and name.
class ClaimFiles {
 public:
  // Returns the pod's claims as the webhook knows them; a claim that no file holds is not known. Namespaces
  // are not compared: pod templates seldom name theirs.
  [[nodiscard]] PodClaims of(const Pod& pod) const;

 private:
  friend Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                                        const std::vector<std::string>& files, std::istream& in);
  Status add(const std::vector<nlohmann::json>& documents);

  std::map<std::pair<ClaimRef::Kind, std::string>, SharedRequests> claims_;
};

// Reads documents that are parsed already, and files. Fails if a claim is refused or a name is given twice;
// objects of other kinds are left alone.
Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                               const std::vector<std::string>& files, std::istream& in);

struct Situation {
  std::shared_ptr<const NcclPolicy> policy;  // null: `problem` says why
  NamespacePolicy problem;                   // of a cluster's namespace
  ClaimFiles claims;
  program::Tables tables;
  std::string node;  // of the command line
  Timestamp now;
  NcclVersion version;
  PlanOptions plan;
  bool ages_count = true;  // false: no table is too old
};

// Reads the pod. If it names no namespace, it gets that of the object that holds it. Its views point into the
// parser and the template.
Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source);
std::string title_of(const PodTemplate& source);  // "MPIJob/resnet50 spec.…template"

// The node that the pod runs on: the pod's own, the situation's, or the only table's; "" without tables.
Result<std::string> node_of(const Pod& pod, const Situation& situation);
// The patch by which the webhook would make the pod its own, and with the node's table its Binding, too; ""
// where nothing changes.
std::string patch_of(const Pod& pod, const std::string& node, const Situation& situation);
// Without tables, node values are shown as known only at Binding.
AnsweredPod preview_pod(const Pod& pod, const nlohmann::json& object, const std::string& node,
                        const Situation& situation);

}  // namespace nccl_env::cli
