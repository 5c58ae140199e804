// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// ncclFindInterfaces: the interfaces for sockets, of which bootstrap takes the first. None where `table` does
// not know them; no note says so.
std::vector<std::string> nccl_choose_interfaces(const NodeFabric& table, const NcclEnv& env,
                                                const NcclVersion& version, NcclNotes& notes);

// Says what is wrong with a list of interfaces that takes lo, which all hosts have; "" for others.
std::string loopback_problem(std::string_view text, const NcclVersion& version);

// How many interface entries and interfaces every version uses (MAX_IFS).
inline constexpr int kNcclMaxInterfaces = 16;

}  // namespace nccl_env
