// SPDX-License-Identifier: Apache-2.0
// Which of several kinds of port is the fabric: ports that look alike form a group, and the heaviest
// group wins if it weighs at least twice the next. All its ports count, those without a usable row too: that
// a fabric has no addresses yet does not make the management NIC the fabric.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

struct GroupChoice {
  std::vector<const Port*> ports;  // the winning group; empty if ambiguous
  std::string problem;             // one sentence, where it is ambiguous
  std::string winner;  // what the winning group is, for people: "8 x Ethernet mlx5_core MT_0000000223"
};

// Precondition: `candidates` is not empty.
// Where no group outweighs the others, `without_row` are left out of the scales.
GroupChoice choose_group(const std::vector<const Port*>& candidates,
                         const std::set<const Port*>& without_row);

}  // namespace nccl_env
