// SPDX-License-Identifier: Apache-2.0
// Faults of a cluster's fabric, from its tables alone (docs/use/doctor.md): nodes of one shape form a pool,
// and each node is compared with what most nodes of its pool have. A fact that is not known is never a
// finding.
//
//   [ NodeFabric ]*, policies, now --> [ Pool ]*: nodes of one shape, their ports side by side
//                                         |
//                                         v
//                                      checks, each alone --> [ Finding ]* --> [ Diagnosis ]
//                                                                                  |
//                                                             [ FabricReport ] <---+   data of the page
//
// Tables belong to the caller, and what looks at them lives as long as one diagnosis. A Diagnosis owns its
// texts.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/judge/doctor/input.h"

namespace nccl_env {

// Ports of a pool's nodes that belong together.
struct PoolRail {
  std::string name;  // on the pool's model node: "mlx5_1", "mlx4_0:2"
  bool fabric = false;
};

struct Pool {
  std::string name;                // pool-1, pool-2, … by size
  std::string shape;               // "8 x Ethernet mlx5_core MT_0000000223"
  std::vector<std::string> nodes;  // sorted
  std::vector<PoolRail> rails;
  bool by_name = true;  // false: no two nodes share names, rails are matched by position
};

// One node, and what its pods get.
struct NodeState {
  std::string node;
  std::string pool;               // "" for a node without hardware ports
  std::vector<std::string> hcas;  // the fabric, in output order; empty if there is a reason
  std::string hca_list;           // as it is injected: "=mlx5_1,mlx5_2"
  std::string reason;             // why there is no fabric: a Reason's name, else ""
  std::string host_reason;        // why hostNetwork pods get no list, where other pods do
  int expected = 0;               // fabric ports that the pool has
  std::optional<int> gid_index;   // as it is injected
  bool gid_searched = false;      // none is injected: NCCL finds the rows by itself
  std::vector<double> rates;      // Gb/s of the fabric's ports where known, in their order
  std::optional<std::chrono::seconds> age;
  bool stale = false;
  int unknown_states = 0;       // of `hcas`: the table does not tell whether they are up
  int unknown_rows = 0;         // of `hcas` that are not InfiniBand: likewise their GIDs
  int unknown_subnets = 0;      // of `hcas`: likewise whether their addresses are in the pool's subnets
  std::vector<int> rail_ports;  // per rail of its pool: index of the table's port; -1: none
};

struct Diagnosis {
  std::vector<Pool> pools;
  std::vector<NodeState> nodes;   // in natural order of their names
  std::vector<Finding> findings;  // the most urgent first
};

Diagnosis diagnose(const DoctorInput& input);
// The findings of each node that has one, in their order, with its pool's, which hold for each of its nodes.
using FindingsByNode = std::map<std::string, std::vector<const Finding*>>;
FindingsByNode findings_by_node(const Diagnosis& diagnosis);
// Says of how many fabric ports of the nodes something is not known, by which no check could judge them:
// they are not healthy. "": none. The subnet counts among several nodes alone.
std::string unknown_text(std::span<const NodeState> nodes);
// Says what to do about GidIndexMoved while nobody has looked at the node's pods.
std::string remedy_of_moved(const std::string& node);
// Puts `more` among the findings, where they belong.
void add_findings(std::vector<Finding> more, Diagnosis& into);

// docs/use/doctor.md names the keys; they do not change.
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
// For people, in 80 columns: its findings, then the pools.
std::string render_text(const Diagnosis& diagnosis);

}  // namespace nccl_env
