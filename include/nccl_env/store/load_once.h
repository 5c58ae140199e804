// SPDX-License-Identifier: Apache-2.0
// The objects of a directory or a cluster as they are now, read once: for programs that answer and end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::store {

struct Reading {
  std::vector<std::shared_ptr<const NodeFabric>> tables;
  std::vector<std::shared_ptr<const NcclPolicy>> policies;
  std::vector<Objects::Problem> problems;  // one for each file (of no kind) or object that was refused
};

// The manifests that a DirectoryStore of this path would read. Fails only if it is not a readable directory.
Result<Reading> read_directory(const std::filesystem::path& path, const PolicyOptions& options);
// The policies and tables of a cluster, without namespaces. Fails if either cannot be listed.
Result<Reading> read_cluster(kube::ApiServer& api, const PolicyOptions& options);

}  // namespace nccl_env::store
