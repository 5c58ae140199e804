// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// Prevents that pods which start or end change the table: a CNI's bridge runs while a pod is on it, so each
// start of a job would rewrite thousands of tables. Interfaces other than those of HCAs, the node interface
// and the masters of both keep their last settled state until looks have differed from it for ten minutes.
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
