// SPDX-License-Identifier: Apache-2.0
// What the variables ask of NCCL's dynamic GID search: family, range, RoCE version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nccl/gid_table.h"
#include "nccl_env/core/nccl/rules.h"

namespace nccl_env {

struct GidRange {
  IpAddress address;
  int prefix = 0;  // negative: matches nothing, as in NCCL
};

struct GidWish {
  GidFamily family = GidFamily::V4;
  std::int64_t version = 2;
  std::optional<GidRange> range;  // absent: every GID is in range

  // matchGidAddrPrefix: for IPv4 the last four bytes alone are compared.
  [[nodiscard]] bool in_range(const Gid& gid) const;
};

// envIbAddrFamily, envIbAddrRange, NCCL_IB_ROCE_VERSION_NUM. A range that is ignored is explained in
// `notes`; nullopt where reading it kills the process (2.21.5 and 2.22.3, no '/').
std::optional<GidWish> read_gid_wish(const NcclEnv& env, const NcclVersion& version,
                                     std::vector<std::string>& notes);

}  // namespace nccl_env
