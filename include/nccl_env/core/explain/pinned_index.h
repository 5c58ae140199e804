// SPDX-License-Identifier: Apache-2.0
// Whether the GID index that a pod was bound with is still its node's.
#pragma once

#include <string>

#include "nccl_env/core/explain/injected_pod.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// Returns a clause such as "GID index 3 is gone from mlx5_1 (25.11.1.2 has 5 since 2026-…)". It names the
// Active ports of the pod's list on which its node's table has no usable row at the index that the Binding
// gave. Returns "" if there is no such port, if the list or the index is not known, if the index did not come
// from the node, or if the table is another node's.
std::string lost_index(const PodRecord& record, const NodeFabric& table);

}  // namespace nccl_env
