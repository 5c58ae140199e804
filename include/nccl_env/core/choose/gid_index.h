// SPDX-License-Identifier: Apache-2.0
// One GID index for all HCAs of a process, the address family, and the address range
// (docs/internals/decisions.md, "One index").
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env {

// If an address had another index before, its new index is pinned only after this time: what moved the
// address may do so again, and pods hold an index for their whole life.
inline constexpr std::chrono::hours kIndexMovedGrace{24};

struct GidChoice {
  std::optional<int> index;
  std::optional<Reason> reason;  // why there is no index
  std::string detail;
  std::string note;                      // one sentence: what a person should know beside the choice
  std::optional<Timestamp> valid_until;  // when an index that moved may be pinned again
  bool ipv6 = false;                     // every port has a usable IPv6 row and not every one an IPv4 row
  std::optional<Cidr> range;             // Dynamic: the one connected prefix that all ports share
};

// `ports` is what choose_ports selected. A family, range or RoCE version among the policy's constants narrows
// the rows. `exposure` says whose rows the table holds. A pod's own table (PodOwned) lacks the rows of
// others, but NCCL's search meets these, too.
GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports, const NcclPolicy& policy,
                     Exposure exposure, Timestamp now);

// True if the row's address has moved to its index so lately that the index is not pinned.
bool is_unsettled(const GidRow& row, Timestamp now);

}  // namespace nccl_env
