// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

// The API server that a command asks, with the caller's own rights. As kubectl finds it: `kubeconfig` if it
// is not "", $KUBECONFIG, the pod's own cluster, ~/.kube/config. `context`: of that file; "": its current
// one. From then on the process ignores SIGPIPE.
Result<std::unique_ptr<kube::Client>> connect_cluster(const std::string& kubeconfig,
                                                      const std::string& context = "");

}  // namespace nccl_env::app
