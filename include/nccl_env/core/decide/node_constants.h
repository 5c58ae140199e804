// SPDX-License-Identifier: Apache-2.0
// The constants of a policy's variants that a node gets.
#pragma once

#include "nccl_env/core/decide/node_values.h"

namespace nccl_env {

// A function of policy and table, not of the pod. Each condition is asked of the node's labels, or of its
// fabric as `spec.fabric` tells it, with the ports that are down and at the rates that they have when they
// are well: constants do not change with the state of a rail. `table` may be null.
NodeValues node_constants(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                          const NodeContext& context);

// The policy as it is for a node (or pod) that has these of its varying constants, and no others.
NcclPolicy with_constants(const NcclPolicy& policy, const ConstantMap& constants);

}  // namespace nccl_env
