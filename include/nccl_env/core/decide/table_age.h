// SPDX-License-Identifier: Apache-2.0
// When a node's table counts, by its age.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {

struct NodeContext {
  Timestamp now;
  std::chrono::seconds max_table_age{3 * 3600};  // the agent refreshes hourly +- 20 %
  bool in_sync = true;                           // false: ages do not count
  bool other_boot = false;                       // the node is known to have booted since its table
  bool policy_changed = false;                   // the pod was created by other values of its policy
  bool policy_edited = false;                    // pods wait that an earlier generation of it may have made
};

// True if a table of that time counts as none: it is too old, or is_ahead(). A table without a time never is.
bool is_stale(const std::optional<Timestamp>& dated, const NodeContext& context);

// True for a time more than five minutes to come: a clock is wrong, and an old table would seem fresh for
// ever.
bool is_ahead(const std::optional<Timestamp>& dated, Timestamp now);

// Why a table counts as none; nothing for one that counts.
struct MissingTable {
  Reason reason;
  std::string detail;
};
std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context);
// Returns the time at which missing_table() changes its answer for an unchanged table; nothing if it never
// will.
std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context);

}  // namespace nccl_env
