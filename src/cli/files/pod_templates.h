// SPDX-License-Identifier: Apache-2.0
// The pods that an object is or will make: a Pod, the object of a recorded AdmissionReview, or whatever in it
// holds `containers`, at any depth and of any kind: Deployment, Job, PyTorchJob, LLMInferenceService,
// DynamoGraphDeployment, …
//
//   documents of a manifest --> [ PodTemplate ]*: the pods in it
//                           --> [ ClaimFiles ]: the claims that they name
//
// Both copy what they find; the documents may go.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nccl_env::cli {

struct PodTemplate {
  std::string object;      // KIND/NAME of the object that holds it; "" if it has none
  std::string path;        // spec.pytorchReplicaSpecs.Master.template; "" for a bare Pod
  std::string name_space;  // of the object that holds it; "" if it says none
  nlohmann::json pod;      // metadata and spec
};

// A file with more is refused.
inline constexpr std::size_t kMaxTemplates = 1000;

// Returns them in the document's order; at most one more than kMaxTemplates.
//
// A map with a list `containers` of objects is a pod's spec. Where it is the `spec` of a Pod or a template,
// the metadata beside it is the pod's. Elsewhere the pod's labels and annotations are in that map itself, as
// in KServe's runtimes. Dynamo's `mainContainer` is the first of the containers.
std::vector<PodTemplate> find_pod_templates(const nlohmann::json& document);

// Returns the names of objects that hold no pod: "Service/llama"; in a List each item is an object. At most
// kMaxTemplates. Claims, which are read with pods, are not among them.
std::vector<std::string> objects_without_pods(const nlohmann::json& document);

}  // namespace nccl_env::cli
