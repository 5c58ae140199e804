// SPDX-License-Identifier: Apache-2.0
// Everything that decisions look up, at one moment: what a store publishes and the webhook and the CLI
// decide from. Immutable once published.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nccl_env/core/node_table.h"
#include "nccl_env/core/policy.h"

namespace nccl_env {

struct PolicyEntry {
  std::shared_ptr<const NcclPolicy> policy;  // null: the object exists but was refused
  std::string problem;                       // why it was refused
};

struct Snapshot {
  std::map<std::string, PolicyEntry, std::less<>> policies;                      // by name
  std::map<std::string, std::shared_ptr<const NodeFabric>, std::less<>> tables;  // by node
  std::map<std::string, std::string, std::less<>> opted_in;  // namespace -> the policy its label names
  bool in_sync = true;  // false while the store cannot follow its source: ages of tables do not count
};

}  // namespace nccl_env
