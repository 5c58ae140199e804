// SPDX-License-Identifier: Apache-2.0
// The facts in which two tables of one node differ.
#pragma once

#include <vector>

#include "nccl_env/core/explain/held_values.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// Returns the changes by port, interface and `node`; facts that are not known have no value. Times and
// counters do not count: a later table with the same facts is the same. Another address, GID, boot id or
// system image GUID is told without its two values, because each node has its own.
std::vector<Change> table_changes(const NodeFabric& then, const NodeFabric& now);

}  // namespace nccl_env
