// SPDX-License-Identifier: Apache-2.0
// Compares a pod's values with those that it would get today.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/judge/explain/answered_pod.h"
#include "nccl_env/judge/explain/pod_record.h"

namespace nccl_env {

// Returns what the node would give to the pod today, by the plan of its Binding. The pod has a status.
NodeValues values_today(const PodRecord& record, const BindingPlan& plan);

// Returns the values that a pod of this shape would get differently today, by comparing those that it was
// given with `today`, the node's: nothing where they are not known. The pod has a status, `around` a policy.
std::vector<Change> changes_since(const PodRecord& record, const PodSurroundings& around,
                                  const std::optional<NodeValues>& today);

// True for a variable that no node gives, so that all ranks have its value alike.
bool is_constant(std::string_view variable);

// "NCCL_IB_TIMEOUT (none then, 22 today)", "NCCL_IB_HCA (- mlx5_4, none today: TooFewPorts)".
std::string change_text(const Change& change);
// The first four.
std::string changes_text(const std::vector<Change>& changes);
// Returns the reason for which a pod that is created anew would be held or get no list; nothing where it
// would be better off.
std::optional<Reason> reason_of_changes(const std::vector<Change>& changes);

// True if the node has booted since the pod was bound; false also where that is not known.
bool is_kept_over_boot(const PodRecord& record, const NodeFabric* table);

// For PodAnswer::details.
TextsByName details_today(const PodRecord& record, const NodeFabric* table, const NodeValues& today);

}  // namespace nccl_env
