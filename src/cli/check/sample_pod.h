// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/policy/policy.h"

namespace nccl_env::cli {

struct SampleSize {
  std::string cpu = "1";
  std::string memory = "1Gi";
  std::string image = "registry.k8s.io/pause:3.10";
};

// A pod like a small training job's: one container "sample" with limit 1 of the resource, not on the host's
// network, and harmless enough for restricted Pod Security.
nlohmann::json sample_pod(const std::string& resource, const SampleSize& size);

// A pod that needs the host's network and /sys, as the agent's pods do.
nlohmann::json sample_agent_pod();

// Returns an example name for each resource pattern of the policy: only the cluster knows the real names.
// Names that the policy skips, and patterns for which no name is found, are left out.
std::vector<std::string> sample_resources(const NcclPolicy& policy);

}  // namespace nccl_env::cli
