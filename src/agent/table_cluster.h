// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/client.h"
#include "table_store.h"

namespace nccl_env::app {

// Opens the node's NodeFabric in a cluster, owned by its Node, by server-side apply: what a new table leaves
// out goes away. Each look at the Node tells its labels of these keys. Needs `get` on nodes, and `get`,
// `list`, `watch`, `create` and `patch` on nodefabrics.
std::unique_ptr<TableStore> open_cluster(std::unique_ptr<kube::Client> client, const std::string& node,
                                         std::vector<std::string> labels, std::shared_ptr<Logger> log);

}  // namespace nccl_env::app
