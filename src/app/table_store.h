// SPDX-License-Identifier: Apache-2.0
// Where an agent puts its node's table.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "nccl_env/base/result.h"
#include "nccl_env/core/node_table.h"

namespace nccl_env::app {

// Abstract so that the loop can be tested without a cluster. One thread at a time.
class TableStore {
 public:
  TableStore() = default;
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;
  virtual ~TableStore() = default;

  // What the store has of this node: what an earlier run wrote. Nothing if there is none, or none that
  // can be read.
  virtual std::optional<NodeFabric> read() = 0;
  // Replaces the node's NodeFabric. May take as long as the store's own time-outs.
  virtual Status write(const nlohmann::ordered_json& object) = 0;
};

// DIRECTORY/NODE.yaml, written beside it and renamed: a reader sees the old file or the new one. The
// directory must exist.
Result<std::unique_ptr<TableStore>> open_directory(std::filesystem::path directory, const std::string& node);

}  // namespace nccl_env::app
