// SPDX-License-Identifier: Apache-2.0
// The values that a pod was given, as each container gets them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/explain/value.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"

namespace nccl_env {

struct InjectedValue {
  std::string container;
  std::string name;
  std::string value;
  Source source;  // not User
};
// Returns the values of one container or of all (""), by container and name. `object` is the pod as the API
// server gives it. Fails for a pod without the status annotation, unless it has values that are not its own.
Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const nlohmann::json& object);

}  // namespace nccl_env
