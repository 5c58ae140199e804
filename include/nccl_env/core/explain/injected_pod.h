// SPDX-License-Identifier: Apache-2.0
// Reads a pod of the cluster: what it was given, and by whom. Everything is read from the pod object, which
// is untrusted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"

namespace nccl_env {

// `object` is a Pod as the API server gives it; `pod` was read from the same text. Fails for a pod without a
// name.
Result<PodRecord> read_pod_record(const Pod& pod, const nlohmann::json& object);

// Returns the values that were injected into one container or into all (""), by container and name. `object`
// is the pod as the API server gives it. Fails for a pod without the status annotation, unless it has values
// that are not its own.
Result<std::vector<Value>> injected_values(const Pod& pod, std::string_view container,
                                           const nlohmann::json& object);

}  // namespace nccl_env
