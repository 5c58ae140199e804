// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// Keeps what comes and goes with pods from rewriting the table: a CNI's bridge runs while a pod is on it, and
// with every start of a job would thousands of them. Of interfaces that are neither an HCA's, nor a master of
// one, nor the node's, a look takes over what it finds once that has been different for ten minutes.
class InterfaceHistory {
 public:
  static constexpr std::chrono::minutes kSettles{10};

  // Puts the settled state of those interfaces into a new look. The first look is taken as it is.
  void note(NodeFabric& table, Timestamp now);

 private:
  std::optional<std::vector<Interface>> settled_;
  std::optional<Timestamp> different_since_;
};

}  // namespace nccl_env::node
