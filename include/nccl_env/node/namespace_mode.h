// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/result.h"

namespace nccl_env::node {

// How the kernel shares RDMA devices between network namespaces (`rdma system`), over netlink; needs no
// privilege. An error where the kernel has no RDMA.
Result<RdmaNamespaceMode> read_namespace_mode();

}  // namespace nccl_env::node
