// SPDX-License-Identifier: Apache-2.0
// The objects of a cluster that the doctor looks at.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// A node that has no table, and whose pods would get values of one.
struct TablelessNode {
  std::string node;
  std::string why;     // a clause: what tells that it should have one
  bool needed = true;  // false: its agent has hardly begun, or it offers no device
};

struct DoctorInput {
  std::vector<std::shared_ptr<const NodeFabric>> tables;
  // A node's fabric: the ports that any of these policies chooses; without policies, those that inference
  // chooses.
  std::vector<std::shared_ptr<const NcclPolicy>> policies;
  Timestamp now;
  std::chrono::seconds max_table_age{3 * 3600};
  std::vector<TablelessNode> tableless;
};

}  // namespace nccl_env
