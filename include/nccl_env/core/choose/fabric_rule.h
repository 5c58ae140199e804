// SPDX-License-Identifier: Apache-2.0
// The rule by which a policy tells the fabric of one node: spec.fabric, or that of a variant.
#pragma once

#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

struct NodeFabricRule {
  const FabricRule* rule = nullptr;  // into the policy; null where it is not known which rule holds
  std::string why;                   // one clause; "" where the policy has a single rule
};
// Finds the rule by the node's labels in its table. `policy` has to outlive the answer.
NodeFabricRule fabric_rule(const NcclPolicy& policy, const NodeFabric& table);

// The subnets of that rule; none where it is not known.
const std::vector<Cidr>& fabric_subnets(const NcclPolicy& policy, const NodeFabric& table);

}  // namespace nccl_env
