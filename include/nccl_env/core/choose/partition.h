// SPDX-License-Identifier: Apache-2.0
// Finds the index that names a policy's partition in the ports' partition tables (InfiniBand).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// An index, or a reason with a sentence.
struct PartitionChoice {
  std::optional<int> index;
  std::optional<Reason> reason;
  std::string detail;
};

// NCCL takes one index for all HCAs of a process (NCCL_IB_PKEY), so it has to name the partition on each of
// the ports; `ports` is not empty. Bit 15 of `key` asks for full membership: limited members do not reach
// each other. Without bit 15 either membership counts, and full membership comes first. Of several indexes
// the lowest wins.
PartitionChoice choose_partition(const NodeFabric& table, const std::vector<const Port*>& ports,
                                 std::uint16_t key);

}  // namespace nccl_env
