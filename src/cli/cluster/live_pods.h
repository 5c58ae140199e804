// SPDX-License-Identifier: Apache-2.0
// Pods that exist: from the API server, or from what kubectl get -o json printed of them.
#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/judge/explain/pod_record.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// Owns the text that `pod` points into; kept only where the pod itself is needed, not just its record.
class LivePod {
 public:
  static Result<std::unique_ptr<LivePod>> read(const nlohmann::json& object);

  [[nodiscard]] const Pod& pod() const { return pod_; }
  [[nodiscard]] const PodRecord& record() const { return record_; }

 private:
  LivePod() = default;

  ReviewParser parser_;
  Pod pod_;
  PodRecord record_;
};

// A job or file with more pods is refused. This many pods of eight GPUs have 40 000 GPUs, and take
// about 500 MB.
inline constexpr std::size_t kMaxLivePods = 5'000;

// The pods of a job or of another owner of that name: by the labels that controllers put on their pods, else
// by their ownerReferences. Needs `list pods` in the namespace, nothing else.
struct JobPods {
  std::vector<nlohmann::json> pods;
  std::vector<std::string> labels;  // by which they were found; none: by owner
  bool several = false;             // no one label finds them all
};
Result<JobPods> list_job_pods(kube::ApiServer& client, const std::string& name_space,
                              const std::string& name);

// The pods of the file's documents, Lists opened; an object that is not a pod is refused. None for an empty
// List, as kubectl prints it where a selector finds no pod.
Result<std::vector<nlohmann::json>> read_pod_file(const std::string& file, std::istream& in);

}  // namespace nccl_env::cli
