// SPDX-License-Identifier: Apache-2.0
// Pods that exist: from the API server, or from what kubectl get -o json printed of them.
#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "nccl_env/base/result.h"
#include "nccl_env/core/pod_record.h"

namespace nccl_env::app {

// Owns the text that `pod` points into; only kept where the pod itself is asked about.
class LivePod {
 public:
  static Result<std::unique_ptr<LivePod>> read(const nlohmann::json& object);

  [[nodiscard]] const Pod& pod() const { return pod_; }
  [[nodiscard]] const PodRecord& record() const { return record_; }
  // For one that is not asked about further.
  [[nodiscard]] PodRecord take_record() && { return std::move(record_); }

 private:
  LivePod() = default;

  ReviewParser parser_;
  Pod pod_;
  PodRecord record_;
};

// A job or a list of pods of a file: more are refused.
inline constexpr std::size_t kMaxLivePods = 20'000;

// The pods of the file's documents, Lists opened; an object that is no pod is refused.
Result<std::vector<nlohmann::json>> read_pod_file(const std::string& file, std::istream& in);

}  // namespace nccl_env::app
