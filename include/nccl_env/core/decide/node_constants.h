// SPDX-License-Identifier: Apache-2.0
// Settles a policy on one node: which of its variants hold there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// A policy as it holds on one node. It contains what the variants decide there, and has no variants itself.
struct SettledPolicy {
  NcclPolicy policy;
  // The constants that differ from node to node. NCCL_SOCKET_IFNAME is among them where socketInterface
  // differs; its value is for pods with a network of their own.
  NodeValues constants = {};
  std::string fabric_why = {};      // which variant gives its fabric; "" if no variant has a fabric
  std::string interface_why = {};   // the same of the socket interface
  std::string fabric_unknown = {};  // a sentence: why that variant is not known; "" where it is
  // Why hostNetwork pods get no socket interface, where it differs from node to node.
  std::optional<Value> no_interface = {};
};

// Depends on policy and table, not on the pod. Each condition is checked against the node's labels, or
// against the ports that the policy chooses as its fabric. Ports that are down belong to that fabric, at the
// rates that they have when they are up, so constants do not change with the state of a rail. `table` may be
// null.
SettledPolicy settle_policy(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                            const NodeContext& context);

// The note of a text of nccl.conf that has the rules which differ from node to node, for pods that find their
// values themselves.
inline constexpr std::string_view kSpecVariable = "NCCL_ENV_SPEC";
// Returns {"fabric":{…},"socketInterface":"eth0"} with the rules that differ from node to node and are known;
// "" if none is.
std::string spec_text(const NcclPolicy& policy, const SettledPolicy& settled);
// Returns the policy as it holds on a node that gave this text. A constant or rule that differs from node to
// node does not hold where it is not in the text.
SettledPolicy settle_by_text(const NcclPolicy& policy, const ConfText& given);

}  // namespace nccl_env
