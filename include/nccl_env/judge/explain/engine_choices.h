// SPDX-License-Identifier: Apache-2.0
// The choice of each engine beside NCCL, for a manifest and for a pod of the cluster.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Without our variables and with them.
struct EngineChoices {
  const Engine* engine = nullptr;
  std::string users;  // a sentence: the container's own decision, which the model does not know; or ""
  EngineSelection alone;
  std::optional<EngineSelection> with_us;  // absent where a value of ours is not known
  // Where the container has a list of its own: its variable, and what the node's list would give.
  std::string_view list = {};
  std::vector<std::string> offered = {};
};

// Those of the policy that have a model. `seen`: the node as a process of the container sees it; `own`: the
// container's own variables; `with_us`: with ours, null where one of them is not known; `node`: what the node
// gives, null where that is not known.
std::vector<EngineChoices> engine_choices(const NcclPolicy& policy, const NodeFabric& seen,
                                          const Container& container, const NcclEnv& own,
                                          const NcclEnv* with_us, const NodeValues* node);

// A block for each.
std::string engines_text(const std::vector<EngineChoices>& engines);
nlohmann::ordered_json engines_json(const std::vector<EngineChoices>& engines);

}  // namespace nccl_env
