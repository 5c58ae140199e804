// SPDX-License-Identifier: Apache-2.0
// Facts that a table gives without a policy, for the columns of a listing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

struct FabricSummary {
  int active_ports = 0;                 // of the fabric, or of all ports where it cannot be told
  std::optional<LinkLayer> link_layer;  // of the fabric
  std::string hcas;                     // "=mlx5_1,…", or "" where inference has no answer
};

// Values that the rules give without a policy to a pod that sees the node's devices.
FabricSummary summarize(const NodeFabric& table, Timestamp now);

// The object as an agent writes it: to_json(table) with `observed.summary`.
nlohmann::ordered_json to_json(const NodeFabric& table, const FabricSummary& summary);

}  // namespace nccl_env
