// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/base/result.h"
#include "nccl_env/core/node_table.h"

namespace nccl_env::verbs {

// How the kernel shares RDMA devices between network namespaces (`rdma system`), over netlink; needs no
// privilege. An error where the kernel has no RDMA.
Result<RdmaNamespaceMode> read_namespace_mode();

}  // namespace nccl_env::verbs
