// SPDX-License-Identifier: Apache-2.0
// PackedTable: a NodeFabric in a sixth of its memory. A replica holds a table of each node and looks at few
// of them, so it keeps them like this and unpacks what it looks at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

class PackedTable {
 public:
  explicit PackedTable(const NodeFabric& table);

  // Returns the table that was packed, with every field.
  [[nodiscard]] NodeFabric unpack() const;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] const std::optional<Timestamp>& dated() const { return dated_; }
  // "": it is not known.
  [[nodiscard]] std::string_view boot_id() const {
    return std::string_view(bytes_).substr(boot_at_, boot_size_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;  // begins with the name; packed_table.cc has the form
  std::optional<Timestamp> dated_;
  std::uint16_t boot_at_ = 0, boot_size_ = 0;  // near the beginning: behind the name and two times
};

using SharedTable = std::shared_ptr<const PackedTable>;
inline SharedTable pack(const NodeFabric& table) {
  return std::make_shared<const PackedTable>(table);
}

}  // namespace nccl_env
