// SPDX-License-Identifier: Apache-2.0
// A port's GID table as ibv_query_gid shows it: every index up to the table's length has a GID, and an
// empty slot's is zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

enum class GidFamily { V4, V6 };

class NcclGidTable {
 public:
  explicit NcclGidTable(const Port& port);

  [[nodiscard]] bool rows_known() const { return rows_known_; }
  [[nodiscard]] bool length_known() const { return length_known_; }
  // Where it is not known: up to the highest known row.
  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] bool has_gaps() const;
  [[nodiscard]] bool has_unknown_types() const;

  // nullptr for an empty slot.
  [[nodiscard]] const GidRow* row(std::int64_t index) const;
  [[nodiscard]] Gid gid(std::int64_t index) const;

  // The indexes above 0 that a search over the whole table has to look at: every row, and one slot of
  // each gap, since a second empty slot after a first changes nothing.
  [[nodiscard]] std::vector<int> candidates() const;

 private:
  std::vector<const GidRow*> rows_;  // by index, each once, all below length_
  std::int64_t length_ = 0;
  bool rows_known_ = false;
  bool length_known_ = false;
};

// getGidAddrFamily: ::ffff:a.b.c.d and ff0e::ffff:a.b.c.d are IPv4, all else (zero too) IPv6.
GidFamily gid_family(const Gid& gid);
// validGid: neither zero nor in fe80::/64.
bool is_valid_gid(const Gid& gid);
// The forwarding identifier of a routable InfiniBand GID (ncclIbExtractFlid).
int gid_flid(const Gid& gid);
// ncclIbRoceGetVersionNum: 1 or 2; nullopt where the type is not known.
std::optional<int> roce_version(const GidRow& row);

}  // namespace nccl_env
