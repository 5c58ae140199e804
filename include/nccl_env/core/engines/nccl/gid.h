// SPDX-License-Identifier: Apache-2.0
// The GID index that NCCL itself takes.
#pragma once

#include <optional>
#include <string>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

struct NcclGid {
  std::optional<int> index;        // absent: the call fails, or the choice depends on rows that are not known
  bool needs_rows = false;         // NCCL searches the port's rows, none of which is known; not in `note`
  std::optional<NcclFault> fault;  // EmptyIndex, LinkLocal and their like, which the note tells
  std::string note;  // sentences: a silent fall-back, an index that carries no traffic, a failure
};

// Returns the GID index that NCCL takes for one port: the literal, or that of its search (ncclIbGetGidIndex).
NcclGid nccl_gid_index(const Port& port, const NcclEnv& env, const NcclVersion& version);

}  // namespace nccl_env
