// SPDX-License-Identifier: Apache-2.0
// The GID index that NCCL itself takes.
#pragma once

#include <optional>
#include <string>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/nccl/environment.h"
#include "nccl_env/core/nccl/version.h"

namespace nccl_env {

// The GID index that NCCL takes for one port: the literal, or its dynamic search (ncclIbGetGidIndex).
// `note` (may be null) gets sentences where the choice is a silent fall-back, will not carry traffic, or
// fails. nullopt where the call fails, or where the choice depends on rows that are not known.
std::optional<int> nccl_gid_index(const Port& port, const NcclEnv& env, const NcclVersion& version,
                                  std::string* note);

}  // namespace nccl_env
