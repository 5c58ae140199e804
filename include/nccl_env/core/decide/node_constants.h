// SPDX-License-Identifier: Apache-2.0
// Settles a policy on one node: which of its variants hold there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/node_values.h"

namespace nccl_env {

// A policy as it holds on one node: what its variants decide there stands in it, and it has none itself.
struct SettledPolicy {
  NcclPolicy policy;
  // The constants that differ from node to node. NCCL_SOCKET_IFNAME is among them where socketInterface
  // differs: that of pods with a network of their own.
  NodeValues constants = {};
  std::string fabric_why = {};      // which variant gives its fabric; "" where none has one
  std::string interface_why = {};   // the same of the socket interface
  std::string fabric_unknown = {};  // a sentence: why it is not known which does; "" where it is
  // Why hostNetwork pods get no socket interface, where it differs from node to node.
  std::optional<Omission> no_interface = {};
};

// A function of policy and table, not of the pod. Each condition is asked of the node's labels, or of its
// fabric as the policy tells it, with the ports that are down and at the rates that they have when they
// are well: constants do not change with the state of a rail. `table` may be null.
SettledPolicy settle_policy(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                            const NodeContext& context);
// Its constants alone.
NodeValues node_constants(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                          const NodeContext& context);

// Texts of a node for pods that look for their values themselves, by variable of our init container: the
// constants that differ, and under kSpecVariable the rules that do.
inline constexpr std::string_view kSpecVariable = "NCCL_ENV_SPEC";
std::vector<std::string_view> texts_of_node(const NcclPolicy& policy);
// {"fabric":{…},"socketInterface":"eth0"}: those that differ and are known; "" where none is.
std::string spec_text(const NcclPolicy& policy, const SettledPolicy& settled);
// The policy as it holds on a node that gave these texts. Nothing that differs holds without one.
SettledPolicy settle_by_texts(const NcclPolicy& policy, const ConstantMap& texts);

}  // namespace nccl_env
