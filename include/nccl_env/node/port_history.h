// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// Since when each port has been in its state. The kernel doesn't tell: what was so at the first look has no
// beginning, and what changes between two looks begins at the second.
class PortHistory {
 public:
  // What an earlier run of the agent knew, if it was of the same boot.
  void resume(const NodeFabric& earlier, const std::optional<std::string>& boot_id);
  // Notes the states of a new look, and fills in state_since. A port that is gone is forgotten; a state that
  // could not be read this time changes nothing.
  void note(NodeFabric& table, Timestamp now);

 private:
  struct Record {
    PortState state;
    std::optional<Timestamp> since;
  };
  std::map<std::pair<std::string, int>, Record> records_;
};

}  // namespace nccl_env::node
