// SPDX-License-Identifier: Apache-2.0
// Chooses the HCA ports that are the fabric (docs/internals/decisions.md, "Which ports").
//
//   NcclPolicy ----> [ FabricRule ] <---- [ variant_search ]: which variant is the node's
//                         |
//   NodeFabric ----> [ nominal_rates ] ----> [ group ]: the kind of port that is the fabric
//                         |                      |
//                         v                      v
//                    [ node_traffic ] ----> [ PortChoice ] ----> [ gid_index ]: one index for all of them
//                                                         \----> [ partition ]: the index of its key
//
// Choices are values whose pointers lead into the table that they were made of; the caller keeps it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// A flap must not cost a rail: NCCL itself skips a port that is down, and the port may be back before the job
// starts. State decides only whether a port of the fabric is listed, never which ports are the fabric.
inline constexpr std::chrono::minutes kPortDownGrace{10};
// MAX_IB_DEVS of NCCL 2.18.5 and later.
inline constexpr std::size_t kMaxHcas = 32;

struct PortVerdict {
  const Port* port = nullptr;  // into the table
  bool fabric = false;         // in the list
  bool of_fabric = false;      // part of the fabric, listed or not
  std::string why;             // one clause: "not Active since …", "on the node interface eth0"
  bool rowless = false;        // of the fabric, without a usable RoCE v2 row
  bool by_policy = false;      // dropped by what spec.fabric names or demands, whatever its state
};

struct PortChoice {
  std::vector<const Port*> ports;  // in output order; empty if there is a reason
  // `ports`, and the ports of the fabric that are only down or lack a usable row; empty if the fabric cannot
  // be told.
  std::vector<const Port*> fabric;
  // Those that serve where the fabric has the policy's number of ports, and some of them are only down or
  // lack a row (TooFewPorts): fewer are better than none where nothing holds the pod back.
  std::vector<const Port*> few;
  std::optional<Reason> reason;          // why there is no list
  std::string detail;                    // one sentence that goes with the reason
  std::vector<PortVerdict> verdicts;     // every port of the table, in table order
  std::optional<Timestamp> valid_until;  // the moment at which a port's grace ends and the answer may change
};

// `exposure` says whose rows the table holds. Host: the pods' rows; a port of the fabric without a usable row
// is left out. SubInterface: the node's rows, while the pods have others; no port is left out because of its
// rows. PodOwned: the rows of the one pod that made the table; a port on which the pod has no address is not
// its own, and does not count.
PortChoice choose_ports(const NodeFabric& table, const FabricRule& rule, Exposure exposure, Timestamp now);
// Puts the few ports that serve in the place of TooFewPorts, where the policy holds no pod back for them.
// `detail` stays.
void settle_for_few(PortChoice& choice, const NcclPolicy& policy);
// Does the same by the rule that the policy has for this node, and settles for few; gives ConditionUnknown
// where that rule is not known.
PortChoice choose_policy_ports(const NodeFabric& table, const NcclPolicy& policy, Exposure exposure,
                               Timestamp now);

// "=mlx5_1,mlx5_2": exact names, `:port` only for devices with several ports in the table.
std::string format_hca_list(const NodeFabric& table, const std::vector<const Port*>& ports);
// The same without '=', which NCCL matches by prefix: nothing where that names a port of the table, whatever
// its state, that `ports` does not have, and on a node with VFs, whose names come and go.
std::optional<std::string> plain_hca_list(const NodeFabric& table, const std::vector<const Port*>& ports);
// True if two values of NCCL_IB_HCA name the same ports: whatever the order, and with or without '=' where a
// plain list is exact on the table's node.
bool same_hca_list(std::string_view left, std::string_view right, const NodeFabric& table);

}  // namespace nccl_env
