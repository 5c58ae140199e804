// SPDX-License-Identifier: Apache-2.0
// The pods that an object is or will make: a Pod, the object of a recorded AdmissionReview, or whatever in it
// has spec.containers (Deployment, Job, PyTorchJob, MPIJob, JobSet, … all hold such templates).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nccl_env::app {

struct PodTemplate {
  std::string object;                   // KIND/NAME of the object that holds it; "" if it has none
  std::string path;                     // spec.pytorchReplicaSpecs.Master.template; "" for a bare Pod
  std::string name_space;               // of the object that holds it; "" if it says none
  const nlohmann::json* pod = nullptr;  // into the document
};

// A file with more is refused.
inline constexpr std::size_t kMaxTemplates = 1000;

// Returns them in the document's order; at most one more than kMaxTemplates.
std::vector<PodTemplate> find_pod_templates(const nlohmann::json& document);

}  // namespace nccl_env::app
