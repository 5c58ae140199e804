// SPDX-License-Identifier: Apache-2.0
// Nodes without a table whose pods would want values of one, as far as the caller may see them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nccl_env/judge/doctor/input.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::cli {

// Nodes with an agent's pod, and nodes that offer an RDMA resource that a policy matches; none in `known` is
// among them. Others, such as nodes without RDMA devices to which no agent was sent, need no table. Needs
// list of pods and of nodes in all namespaces: what may not be listed tells nothing.
std::vector<TablelessNode> find_tableless_nodes(kube::ApiServer& client, const DoctorInput& input,
                                                const std::set<std::string>& known);

}  // namespace nccl_env::cli
