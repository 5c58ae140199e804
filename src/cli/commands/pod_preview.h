// SPDX-License-Identifier: Apache-2.0
// Previews the answers that pods of a file would get, from other files or from a cluster.
//
//   file --> documents --> [ PodTemplate ]* --+
//   [ PodArguments ] ---> [ Situation ] ------+--> [ PreviewedPod ]*: answer and patch
//
// The Preview owns all of it, and a command prints what it asks for.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/connection.h"
#include "commands/command_line.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/judge/explain/answered_pod.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {

struct PodTemplate {
  std::string object;      // KIND/NAME of the object that holds it; "" if it has none
  std::string path;        // spec.pytorchReplicaSpecs.Master.template; "" for a bare Pod
  std::string name_space;  // of the object that holds it; "" if it says none
  nlohmann::json pod;      // metadata and spec
  // The place of `pod` in its document; absent where it was made of something else that stands there.
  std::optional<nlohmann::json::json_pointer> place;
  std::size_t document = 0;  // of the file
  std::string one_of = {};   // "PyTorchJob/llama has 2 pods"; "" where the object does not tell
};

// A file with more is refused.
inline constexpr std::size_t kMaxTemplates = 1000;

// Returns them in the document's order; at most one more than kMaxTemplates.
//
// A map with a list `containers` of objects is a pod's spec. Where it is the `spec` of a Pod or a template,
// the metadata beside it is the pod's. Elsewhere the pod's labels and annotations are in that map itself, as
// in KServe's runtimes.
std::vector<PodTemplate> find_pod_templates(const nlohmann::json& document);

// Returns the names of objects that hold no pod: "Service/llama"; in a List each item is an object. At most
// kMaxTemplates. Claims, which are read with pods, are not among them.
std::vector<std::string> objects_without_pods(const nlohmann::json& document);

// Reads the pod. If it names no namespace, it gets that of the object that holds it. Its views point into the
// parser and the template.
Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source);
std::string title_of(const PodTemplate& source);  // "MPIJob/resnet50 spec.…template"
// The part of its object that a template makes: "Worker"; the object where it is the only one.
std::string part_of(const PodTemplate& source);

// Pods of a file, and what decides about them.
struct PodArguments {
  std::string pod;  // the file
  ClusterArguments cluster;
  program::PolicyArguments policy;
  std::vector<std::string> tables;
  std::vector<std::string> claims;  // files with the pods' claims; the pods' own file may hold some, too
  std::string node;
  std::string at;
};

// -f, --namespace, --table, --claims and --node.
void add_pod_options(CLI::App& app, PodArguments& into);

struct Situation {
  PodSurroundings around;  // of each pod, but for its node; without a policy it says why
  // From files, by kind and name. Namespaces are not compared: pod templates seldom name theirs.
  std::map<std::pair<ClaimRef::Kind, std::string>, SharedRequests> claims;
  program::Tables tables;  // without them, node values are shown as known only at Binding
  std::string node;        // of the command line
  PlanOptions plan;
};

struct PreviewedPod {
  PodTemplate source;
  AnsweredPod told;
  std::string node;   // that it runs on: its own, the situation's, or the only table's; "" without tables
  std::string patch;  // by which the webhook, and the Binding on its node, would make it; "": nothing changes
  std::vector<Value> gives = {};  // by its command to all ranks of its object

  [[nodiscard]] bool gets_values() const { return told.answer.state != PodState::NotInjected; }
};

struct Preview {
  std::vector<nlohmann::json> documents;
  Situation situation;
  std::vector<PreviewedPod> pods;
  std::vector<std::string> remarks;
};

// The init container that pods get, as far as it is known under the policy, which may be null.
using ChooseResolver = std::function<PlanOptions(const NcclPolicy*)>;

program::Failure read_preview(const PodArguments& arguments, const std::string& nccl_version,
                              const ChooseResolver& resolver_of, std::istream& in, Preview& into);
// Answers for the documents' pods anew; `file` is named in errors.
program::Failure answer_pods(const std::string& file, Preview& into);

// The first names, printable: all of them would hide the answer.
std::string some_of(const std::vector<std::string>& names);

}  // namespace nccl_env::cli
