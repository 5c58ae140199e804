// SPDX-License-Identifier: Apache-2.0
// One GID index for all HCAs of a process, the address family, and the address range
// (docs/internals/decisions.md, "Which index").
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env {

// If an address had another index before, its new index is pinned only after this time: the index may change
// again for the same cause, and pods hold an index for their whole life.
inline constexpr std::chrono::hours kIndexMovedGrace{24};

// The policy's rule for the index: Dynamic in place of Auto where its constants let NCCL take back a port
// that failed (NCCL_IB_RESILIENCY_PORT_RECOVERY). NCCL then follows a GID that moved; a pin would repeat the
// dead one.
GidIndexRule::Kind index_rule(const NcclPolicy& policy);
// Why a policy with the rule Dynamic gets no index.
std::string_view why_dynamic(const NcclPolicy& policy);

struct GidChoice {
  std::optional<int> index;
  std::optional<Reason> reason;  // why there is no index
  std::string detail;
  std::string note;                      // one sentence for people that goes with the choice
  std::optional<Timestamp> valid_until;  // when an index that moved may be pinned again
  bool searched = false;                 // it is left to NCCL's own search
  bool ipv6 = false;                     // IPv6: some port lacks a usable IPv4 row, or the policy says IPv6
  std::optional<Cidr> range;             // Dynamic: the one connected prefix that all ports share
};

// `ports` is what choose_ports selected. A family, range or RoCE version among the policy's constants narrows
// the rows. `exposure` says whose rows the table holds. A pod's own table (PodOwned) lacks rows that
// belong to others, but NCCL's search meets those rows, too.
GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports, const NcclPolicy& policy,
                     Exposure exposure, Timestamp now);

// True if the row's address has moved to its index so lately that the index is not pinned.
bool is_unsettled(const GidRow& row, Timestamp now);

}  // namespace nccl_env
