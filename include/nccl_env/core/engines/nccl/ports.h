// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/nccl/notes.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// ncclIbInit, ncclIbInitDevices: the ports that NCCL's own IB transport would use, in its order.
std::vector<const Port*> nccl_choose_ports(const NodeFabric& table, const NcclEnv& env,
                                           const NcclVersion& version, NcclNotes& notes);

// The most HCA entries and ports that a version uses: 16 up to 2.18.3, 32 from 2.18.5 (MAX_IB_DEVS).
int nccl_max_hcas(const NcclVersion& version);

}  // namespace nccl_env
