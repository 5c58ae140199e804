// SPDX-License-Identifier: Apache-2.0
// Whether pods of a namespace can get what its policy wants, found out beforehand by dry runs of sample pods.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cluster/dry_run.h"
#include "cluster/sample_pod.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

// What of one sample pod became.
struct SampleOutcome {
  std::string resource;
  DryRun with_us;
  std::optional<DryRun> without_us;  // tried where the first one was refused

  std::string form, exposure;                                // of the status annotation
  std::vector<std::pair<std::string, std::string>> set;      // variable and source
  std::vector<std::pair<std::string, std::string>> omitted;  // variable and reason
  bool resolver = false;                                     // has our init container
  bool touched = false;                                      // has the status annotation

  std::string problem;  // one sentence; "" if all is well
  std::string remedy;   // "" without a problem
};

struct NamespaceCheck {
  std::string name_space;
  std::string policy;           // "" without the label
  std::string mode;             // Enforce or DryRun
  std::string problem, remedy;  // of the namespace as a whole; "" if all is well
  std::vector<SampleOutcome> samples;
  std::vector<std::string> notes;  // what was not tried

  [[nodiscard]] bool good() const;
};

// `resource`: tried instead of those that the policy matches, unless it is "". Needs get of the namespace, of
// ncclpolicies, and create of pods; changes nothing.
Result<NamespaceCheck> check_namespace(kube::Client& client, const std::string& name_space,
                                       const std::string& resource, const SampleSize& size);

std::string render_text(const NamespaceCheck& check);
nlohmann::ordered_json to_json(const NamespaceCheck& check);

}  // namespace nccl_env::app
