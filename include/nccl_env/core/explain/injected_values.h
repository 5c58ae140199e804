// SPDX-License-Identifier: Apache-2.0
// The values that a pod was given, as each container gets them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"

namespace nccl_env {

// A value as a container of the pod gets it.
struct InjectedValue {
  std::string container;
  std::string name;
  std::string value;
  std::string source;  // Node, Policy, File, Pod; Foreign: it is not the pod's own (GivenValue)
};
// Reads the pod's status annotation, its env and the annotations that Binding wrote, for one container or for
// all (""); a variable whose annotation is not there was not given. `object` is the pod as the API server
// gives it: its status tells what was found inside the pod; null: nothing of that is known, nor whose values
// are Foreign. Fails for a pod without the status annotation, unless it has such values.
Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const nlohmann::json* object = nullptr);

}  // namespace nccl_env
