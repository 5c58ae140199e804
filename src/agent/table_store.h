// SPDX-License-Identifier: Apache-2.0
// Where an agent puts its node's table.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

// Abstract so that the loop can be tested without a cluster. Calls come from one thread but for stop().
class TableStore {
 public:
  struct NodeFacts {
    std::optional<IpAddress> address;  // the Node's InternalIP
  };
  struct Beginning {
    NodeFacts node;
    std::optional<NodeFabric> earlier;  // what an earlier run wrote
  };

  TableStore() = default;
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;
  virtual ~TableStore() = default;

  // What the first table needs. An error: the store can't be reached now.
  virtual Result<Beginning> begin() = 0;
  // Replaces the node's NodeFabric. May take as long as the store's own time-outs.
  virtual Result<NodeFacts> write(const nlohmann::ordered_json& object) = 0;
  // From any thread, for good: what is under way fails soon.
  virtual void stop() {}
};

// DIRECTORY/NODE.yaml, written beside it and renamed: a reader sees the old file or the new one. The
// directory must exist.
Result<std::unique_ptr<TableStore>> open_directory(std::filesystem::path directory, const std::string& node);

// The node's NodeFabric in a cluster, owned by its Node, by server-side apply: what a new table leaves out
// goes away. Needs `get` on nodes, and `get`, `create` and `patch` on nodefabrics.
std::unique_ptr<TableStore> open_cluster(std::unique_ptr<kube::Client> client, const std::string& node);

}  // namespace nccl_env::app
