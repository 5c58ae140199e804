// SPDX-License-Identifier: Apache-2.0
// One GID index for all HCAs of a process, the address family, and the address range
// (docs/decisions.md, "One index").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/choose/ports.h"

namespace nccl_env {

struct GidChoice {
  std::optional<int> index;
  std::optional<Reason> reason;  // why there is no index
  std::string detail;
  bool ipv6 = false;          // every port has a usable IPv6 row and not every one an IPv4 row
  std::optional<Cidr> range;  // Dynamic: the one connected prefix that all ports share
};

// `ports` is what choose_ports selected. `constants` is the policy's env: a family, range or RoCE
// version that the policy fixes narrows the rows.
GidChoice choose_gid(const NodeFabric& table, const std::vector<const Port*>& ports,
                     const NcclPolicy& policy);

}  // namespace nccl_env
