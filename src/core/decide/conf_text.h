// SPDX-License-Identifier: Apache-2.0
// The texts of nccl.conf that a Binding brings: one for each way in which a pod can see a node.
#pragma once

#include <map>
#include <string>

#include "nccl_env/core/decide/decide.h"

namespace nccl_env {

using ConfValues = std::map<std::string, std::string, std::less<>>;

// What the policy itself says: its constants and literals. The socket interface is one of them on a pod
// network; on the node's it depends on the node.
ConfValues policy_constants(const NcclPolicy& policy, bool host_network);

// The annotation that holds the text for such a pod.
std::string conf_key(Exposure exposure, bool host_network);

// Adds the texts to a plan whose values are there. Where the policy does not deliver by file, none.
void add_conf_texts(BindingPlan& plan);

}  // namespace nccl_env
