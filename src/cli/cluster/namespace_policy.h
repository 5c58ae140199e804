// SPDX-License-Identifier: Apache-2.0
// The policy that a namespace of a cluster follows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/decide.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::app {

// Each part as far as it could be read; `unread` has a sentence for what could not.
struct NamespacePolicy {
  std::optional<std::string> label;  // "": the namespace has none
  std::shared_ptr<const NcclPolicy> policy;
  std::optional<Reason> problem;  // NamespaceNotOptedIn, PolicyMissing, PolicyInvalid
  std::string detail;
  std::vector<std::string> unread;
};

// `otherwise`: the policy to read where the label cannot be read or is not there; "": none.
NamespacePolicy read_namespace_policy(kube::Client& client, const std::string& name_space,
                                      const std::string& otherwise, bool allow_code_paths);

// The table of a node: null and no sentence if there is none. `known` is false where it could not be read.
struct NodeTable {
  bool known = false;
  std::shared_ptr<const NodeFabric> table;
  bool forbidden = false;
  std::string problem;
};
NodeTable read_node_table(kube::Client& client, const std::string& node);

}  // namespace nccl_env::app
