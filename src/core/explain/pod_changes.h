// SPDX-License-Identifier: Apache-2.0
// Compares a pod's values with those that it would get today.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/explain/answered_pod.h"
#include "nccl_env/core/explain/held_values.h"
#include "nccl_env/core/explain/pod_record.h"

namespace nccl_env {

// Returns what the node would give to the pod today; nothing where that is not known. `around` has a policy.
std::optional<NodeValues> values_today(const PodRecord& record, const PodSurroundings& around);

// Returns the values that a pod of this shape would get differently today, by comparing the node's values of
// today with those that the pod was given. Returns none if policy or table is not known.
std::vector<Change> changes_since(const PodRecord& record, const PodSurroundings& surroundings);

// True for a variable that no node gives, so that all ranks have its value alike.
bool is_constant(std::string_view variable);

// For PodAnswer::details.
std::map<std::string, std::string, std::less<>> details_today(const PodRecord& record,
                                                              const PodSurroundings& surroundings);

}  // namespace nccl_env
