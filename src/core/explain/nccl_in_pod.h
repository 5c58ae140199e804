// SPDX-License-Identifier: Apache-2.0
// NCCL's choice from a node's table inside a pod of that node.
#pragma once

#include "nccl_env/core/nccl/environment.h"
#include "nccl_env/core/nccl/select.h"
#include "nccl_env/core/nccl/version.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// The node as a process of the pod sees it. Anything of the pod's own is not known before it starts.
NodeFabric seen_in_pod(const NodeFabric& table, Exposure exposure, bool host_network);

// nccl_select over `seen`. One note on the pod's own rows replaces NCCL's notes on unknown rows. `notes`, on
// unknown parts of the environment, come first.
NcclSelection nccl_in_pod(const NodeFabric& seen, const NcclEnv& env, Exposure exposure, bool host_network,
                          const NcclVersion& version, const std::vector<std::string>& notes);

// Notes on unknown parts of the environment.
std::string note_elsewhere(std::string_view variable);
inline constexpr const char* kNoteEnvFrom =
    "The container's envFrom may hold further variables, which are not known here.";

}  // namespace nccl_env
