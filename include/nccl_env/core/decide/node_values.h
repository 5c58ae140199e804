// SPDX-License-Identifier: Apache-2.0
// The values of the variables that a node gives to its pods.
#pragma once

#include <string_view>

#include "nccl_env/core/decide/node_constants.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Values that a node gives to pods of one exposure (Host or SubInterface), its constants among them. PodOwned
// pods get only constants from a node; for such a pod `table` holds what the pod itself sees, and the policy
// has no variants (settle_by_text). `table` may be null. NCCL_SOCKET_IFNAME is that of hostNetwork pods.
NodeValues node_values(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context);
// The same for a node (or pod) for which the policy has been settled (settle_policy, settle_by_text).
NodeValues node_values(const SettledPolicy& settled, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context);

// True if the table has a usable row at the index on each of the ports.
bool serves_all(const NodeFabric& table, const std::vector<EnginePort>& ports,
                std::optional<std::int64_t> index);

}  // namespace nccl_env
