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
};

// True if a table of that time is so old that it counts as none. A table without a time never is.
bool is_stale(const std::optional<Timestamp>& observed, const NodeContext& context);

// True for a time that is minutes to come: a clock is ahead, and makes an old table seem fresh.
bool is_ahead(const std::optional<Timestamp>& observed, Timestamp now);

// Why a table counts as none; nothing for one that counts.
struct MissingTable {
  Reason reason;
  std::string detail;
};
std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context);
// Returns the time at which missing_table() may change its answer for an unchanged table.
std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context);

}  // namespace nccl_env
