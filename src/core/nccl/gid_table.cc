// SPDX-License-Identifier: Apache-2.0
#include "nccl/gid_table.h"

#include <algorithm>

namespace nccl_env {

NcclGidTable::NcclGidTable(const Port& port)
    : rows_known_(port.gids.has_value()), length_known_(port.gid_table_length.has_value()) {
  if (port.gids) {
    for (const GidRow& row : *port.gids) {
      const bool inside = row.index >= 0 && (!port.gid_table_length || row.index < *port.gid_table_length);
      if (inside && !row.gid.is_zero()) {
        rows_.push_back(&row);
      }
    }
  }
  const auto by_index = [](const GidRow* a, const GidRow* b) { return a->index < b->index; };
  const auto same_index = [](const GidRow* a, const GidRow* b) { return a->index == b->index; };
  std::stable_sort(rows_.begin(), rows_.end(), by_index);
  rows_.erase(std::unique(rows_.begin(), rows_.end(), same_index), rows_.end());
  const std::int64_t known_end = rows_.empty() ? 0 : std::int64_t{rows_.back()->index} + 1;
  length_ = port.gid_table_length ? std::max(*port.gid_table_length, 0) : known_end;
}

bool NcclGidTable::has_gaps() const {
  return !rows_.empty() && static_cast<std::size_t>(rows_.back()->index) + 1 != rows_.size();
}

bool NcclGidTable::has_unknown_types() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const GidRow* row) { return !row->type; });
}

const GidRow* NcclGidTable::row(std::int64_t index) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), index,
                       [](const GidRow* row, std::int64_t wanted) { return row->index < wanted; });
  return found != rows_.end() && (*found)->index == index ? *found : nullptr;
}

Gid NcclGidTable::gid(std::int64_t index) const {
  const GidRow* found = row(index);
  return found == nullptr ? Gid{} : found->gid;
}

std::vector<int> NcclGidTable::candidates() const {
  std::vector<int> indexes;
  std::int64_t next = 1;
  for (const GidRow* row : rows_) {
    if (row->index > next) {
      indexes.push_back(static_cast<int>(next));
    }
    if (row->index >= 1) {
      indexes.push_back(row->index);
      next = std::int64_t{row->index} + 1;
    }
  }
  if (next < length_) {
    indexes.push_back(static_cast<int>(next));
  }
  return indexes;
}

GidFamily gid_family(const Gid& gid) {
  static constexpr std::array<std::uint8_t, 12> kMulticastMapped{0xff, 0x0e, 0, 0, 0,    0,
                                                                 0,    0,    0, 0, 0xff, 0xff};
  const bool multicast = std::equal(kMulticastMapped.begin(), kMulticastMapped.end(), gid.bytes.begin());
  return gid.is_v4_mapped() || multicast ? GidFamily::V4 : GidFamily::V6;
}

bool is_valid_gid(const Gid& gid) {
  static constexpr std::array<std::uint8_t, 8> kLinkLocal{0xfe, 0x80};
  return !gid.is_zero() && !std::equal(kLinkLocal.begin(), kLinkLocal.end(), gid.bytes.begin());
}

int gid_flid(const Gid& gid) {
  return gid.bytes[4] * 256 + gid.bytes[5];
}

std::optional<int> roce_version(const GidRow& row) {
  if (!row.type) {
    return std::nullopt;
  }
  return *row.type == GidType::RoCEv2 ? 2 : 1;
}

}  // namespace nccl_env
