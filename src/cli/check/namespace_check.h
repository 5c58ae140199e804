// SPDX-License-Identifier: Apache-2.0
// nccl-env check --namespace: whether pods of a namespace can get what its policy wants, found out
// beforehand by dry runs of sample pods.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/checked.h"
#include "cluster/objects.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

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

// Returns the resource names of the policy, those with a star without it: only the cluster knows the real
// names. Names that the policy skips, and other patterns, are left out.
std::vector<std::string> sample_resources(const NcclPolicy& policy);

// The fate of one sample pod.
struct SampleOutcome {
  std::vector<std::string> resources;  // the first was tried: the policy answers alike for all of them
  DryRun with_us;
  std::optional<DryRun> without_us;  // tried where the first one was refused

  std::string form, exposure;                         // of the status annotation
  nlohmann::json set = nlohmann::json::object();      // by variable: its source
  nlohmann::json omitted = nlohmann::json::object();  // by variable: the reason
  bool resolver = false;                              // has our init container
  bool touched = false;                               // has the status annotation
  bool unanswered = false;         // the policy wants such pods, and the webhook changed nothing
  std::optional<Finding> finding;  // nothing if all is well
};

struct NamespaceCheck {
  std::string name_space;
  std::string policy;              // "" without the label
  std::string mode;                // Enforce or DryRun
  std::optional<Finding> finding;  // of the namespace as a whole
  std::vector<SampleOutcome> samples;
  std::vector<std::string> notes;  // on what was not tried

  [[nodiscard]] std::vector<Finding> findings() const;  // the worst first
};

// Needs get of the namespace and of ncclpolicies, and create of pods; changes nothing.
// `resource`: tried instead of those that the policy matches, unless it is "". Tries at most `most` pods.
Result<NamespaceCheck> check_namespace(kube::ApiServer& client, const std::string& name_space,
                                       const std::string& resource, const SampleSize& size,
                                       std::size_t most = SIZE_MAX);

std::string render_text(const NamespaceCheck& check);
nlohmann::ordered_json to_json(const NamespaceCheck& check);

// Tells whether opted-in namespaces have their policy, and whether the webhook answers for a pod of one, the
// first in which that can be found out. Needs list of namespaces and of ncclpolicies, too. `first`: the part
// that has to be mended before a pod is tried; "": none.
Checks judge_namespaces(kube::ApiServer& client, const std::string& first);

}  // namespace nccl_env::cli
