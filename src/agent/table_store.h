// SPDX-License-Identifier: Apache-2.0
// TableStore: the place where an agent writes its node's table.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/base/log.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::agent {

// Abstract so that the loop can be tested without a cluster. All calls but stop() come from one thread.
class TableStore {
 public:
  struct NodeFacts {
    std::optional<IpAddress> address;              // the Node's InternalIP
    std::optional<std::vector<NodeLabel>> labels;  // absent where there is no Node to ask
    std::optional<std::string> kubelet_version = {};
    bool settled = true;  // false: labels may still be missing
  };
  struct Beginning {
    NodeFacts node;
    std::optional<NodeFabric> earlier = {};  // what an earlier run wrote
    bool row_objects = false;                // the earlier table has GID rows in their older form
  };

  TableStore() = default;
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;
  virtual ~TableStore() = default;

  // Prepares the first table. An error: the store can't be reached now.
  virtual Result<Beginning> begin() = 0;
  // Replaces the node's NodeFabric. May take as long as the store's own time-outs.
  virtual Result<NodeFacts> write(const nlohmann::ordered_json& object) = 0;
  // Until stop() returns, `on_loss` is called, on any thread, when the store no longer holds what was written
  // last. Its argument is the reason, as the end of a sentence.
  virtual void follow(std::function<void(const std::string&)> /*on_loss*/) {}
  // Stops for good: what is under way fails soon. Only one thread may call stop().
  virtual void stop() {}
};

// Opens the node's NodeFabric in a cluster. The Node owns it. Tables are written by server-side apply, so
// fields that a new table leaves out go away. Each read of the Node takes its labels of these keys. Needs
// `get` on nodes, and `get`, `list`, `watch`, `create` and `patch` on nodefabrics.
std::unique_ptr<TableStore> open_cluster(std::unique_ptr<kube::Client> client, const std::string& node,
                                         std::vector<std::string> labels, std::shared_ptr<Logger> log);
// Opens DIRECTORY/NODE.yaml. Each write makes a new file beside it and renames that, so a reader sees the old
// file or the new one. The directory must exist.
Result<std::unique_ptr<TableStore>> open_directory(std::filesystem::path directory, const std::string& node);

}  // namespace nccl_env::agent
