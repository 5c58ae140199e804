// SPDX-License-Identifier: Apache-2.0
// The values of the variables that a node gives to its pods.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {

struct NodeValues {
  std::string node;
  std::map<std::string, std::string, std::less<>> set;  // variable -> value, never empty
  // Under Reference: NCCL_IB_HCA without its '=', where that names the same ports, since other readers know
  // no
  // '='. `set` has the form of files.
  std::optional<std::string> plain_hcas;
  std::vector<Omission> omitted;                        // variables the policy wants and the node cannot give
  std::map<std::string, std::string, std::less<>> why;  // of varying constants: the variant that gives it
  std::optional<Reason> deny;                           // a reason for which Deny holds pods
  std::string deny_detail;
  std::vector<std::string> notes;        // sentences for people
  std::optional<Timestamp> valid_until;  // the answer may change then, table and policy unchanged

  // Returns the value in the form of references; "" if there is none.
  [[nodiscard]] std::string_view reference_text(std::string_view variable) const;
};

struct NodeContext {
  Timestamp now;
  std::chrono::seconds max_table_age{3 * 3600};  // the agent refreshes hourly +- 20 %
  bool in_sync = true;                           // false: ages do not count
};

// True if a table of that time is so old that it counts as none. A table without a time never is.
bool is_stale(const std::optional<Timestamp>& observed, const NodeContext& context);

// Why a table counts as none; nothing for one that counts.
struct MissingTable {
  Reason reason;
  std::string detail;
};
std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context);
// Returns the time at which missing_table() may change its answer for an unchanged table.
std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context);

// Values that a node gives to pods of one exposure (Host or SubInterface), its constants among them. PodOwned
// pods get only constants from a node; for such a pod `table` holds what the pod itself sees, and the policy
// has no variants (settle_by_texts). `table` may be null. NCCL_SOCKET_IFNAME is that of hostNetwork pods.
NodeValues node_values(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context);
// The same for a node (or pod) for which the policy has been settled (settle_policy, settle_by_texts).
struct SettledPolicy;
NodeValues node_values(const SettledPolicy& settled, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context);

}  // namespace nccl_env
