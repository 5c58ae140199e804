// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// Keeps what comes and goes with pods from rewriting the table: a CNI's bridge runs while a pod is on it, so
// each start of a job would rewrite thousands of tables. For interfaces that are not an HCA's, a master of
// one or the node's, the last settled state stays until looks have differed from it for ten minutes.
class InterfaceHistory {
 public:
  static constexpr std::chrono::minutes kSettles{10};

  // Puts the settled state of those interfaces into a new look. The first look is settled.
  void note(NodeFabric& table, Timestamp now);

 private:
  std::optional<std::vector<Interface>> settled_;
  std::optional<Timestamp> different_since_;
};

}  // namespace nccl_env::node
