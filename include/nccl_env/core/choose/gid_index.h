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

// An index that an address has for less long is not pinned, where the address had another before: what took
// it away may do so again, under pods that hold the index for their whole life.
inline constexpr std::chrono::hours kIndexMovedGrace{24};

struct GidChoice {
  std::optional<int> index;
  std::optional<Reason> reason;  // why there is no index
  std::string detail;
  std::string note;                      // one sentence: what a person should know beside the choice
  std::optional<Timestamp> valid_until;  // the moment at which an index counts as still again
  bool ipv6 = false;                     // every port has a usable IPv6 row and not every one an IPv4 row
  std::optional<Cidr> range;             // Dynamic: the one connected prefix that all ports share
};

// `ports` is what choose_ports selected. A family, range or RoCE version among the policy's constants narrows
// the rows. `exposure` says whose rows the table holds: a pod's own (PodOwned) leaves out those of others,
// which NCCL's search meets all the same.
GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports, const NcclPolicy& policy,
                     Exposure exposure, Timestamp now);

// Whether the row's address had another index so lately that its index is not pinned.
bool is_unsettled(const GidRow& row, Timestamp now);

}  // namespace nccl_env
