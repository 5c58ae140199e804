// SPDX-License-Identifier: Apache-2.0
// Chooses the kind of port that is the fabric: ports that look alike form a group, and the heaviest group
// wins if it weighs at least twice the next. All its ports count at their nominal rate, also those that are
// down or lack a usable row: a fabric that is down, or has no addresses yet, does not lose to the management
// NIC.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "choose/nominal_rates.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

struct GroupChoice {
  std::vector<const Port*> ports;  // the winning group; empty if ambiguous
  std::string problem;             // one sentence, where it is ambiguous
  std::string kind;                // what the winning group is: "Ethernet mlx5_core MT_0000000223"
};

// Precondition: `candidates` is not empty.
// Where no group outweighs the others, they are weighed again without the ports `without_row`. A group with a
// port in `own` (ports that carry the node's own traffic) cannot win then: another group may only have lost
// its addresses.
GroupChoice choose_group(const std::vector<const Port*>& candidates, const NominalRates& rates,
                         const std::set<const Port*>& without_row, const std::set<const Port*>& own);

// "8 x Ethernet mlx5_core MT_0000000223 (mlx5_1, …)"
std::string describe_ports(const std::vector<const Port*>& ports, const std::string& kind);
// "mlx5_1, mlx5_2"; of many the first 32, and how many more.
std::string names_of(const std::vector<const Port*>& ports);

}  // namespace nccl_env
