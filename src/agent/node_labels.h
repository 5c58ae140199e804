// SPDX-License-Identifier: Apache-2.0
// Labels of the Node object that the node's table repeats, for policies that tell nodes apart by them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::agent {

// Instance types and zones, which cloud controllers write, and the GPU's product, which the feature discovery
// of NVIDIA and the node labeller of AMD write.
const std::vector<std::string>& usual_node_labels();

struct ReadLabels {
  std::vector<NodeLabel> labels;  // in the order of the keys
  bool settled = true;            // false: the Node is new, and a label that it does not have is left out
};
// Reads the labels of these keys from a Node. Kubelet, cloud controller and feature discovery write theirs in
// a Node's first minutes; so only a Node that is older than an hour is known not to have a label.
ReadLabels read_labels(const nlohmann::json& node, const std::vector<std::string>& keys, Timestamp now);

}  // namespace nccl_env::agent
