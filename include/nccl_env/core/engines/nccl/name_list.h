// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/engines/nccl/version.h"

namespace nccl_env {

// A parsed NCCL_IB_HCA or NCCL_SOCKET_IFNAME value (parseStringList, src/misc/utils.cc).
struct NcclNameList {
  struct Entry {
    std::string name;
    int port = -1;  // -1: any
    int rail = -1;
    int plane = -1;
  };
  bool exclude = false;  // leading ^
  bool exact = false;    // leading = (after ^)
  std::vector<Entry> entries;
  int dropped = 0;   // entries beyond the limit, which NCCL silently ignores
  int too_long = 0;  // entries of 64 bytes or more: memory overrun up to 2.30.4, cut to 63 from 2.30.7 on

  // The entry that matches first (matchIf, matchPort); nullptr if none does. A port of -1 stands for any.
  [[nodiscard]] const Entry* find(std::string_view name, int port) const;
  // matchIfList: an empty list matches everything; exclusion inverts.
  [[nodiscard]] bool selects(std::string_view name, int port) const;
  // Returns "mlx5_0" or "mlx5_0:1" for each entry.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Never fails: NCCL never refuses a list. `limit` is how many entries this version reads.
NcclNameList parse_nccl_name_list(std::string_view text, const NcclVersion& version, int limit);

}  // namespace nccl_env
