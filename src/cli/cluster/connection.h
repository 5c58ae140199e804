// SPDX-License-Identifier: Apache-2.0
// The cluster that a command asks, with the caller's own rights.
#pragma once

#include <memory>
#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

// Finds the API server as kubectl does: by `kubeconfig` if it is not "", $KUBECONFIG, the pod's own cluster,
// ~/.kube/config. `context`: of that file; "": its current one. From then on the process ignores SIGPIPE.
Result<std::unique_ptr<kube::Client>> connect_cluster(const std::string& kubeconfig,
                                                      const std::string& context = "");

// Options that choose a cluster and a namespace of it.
struct ClusterArguments {
  std::string kubeconfig;  // "": as kubectl finds it
  std::string context;     // "": its current one
  std::string name_space;  // "": the context's
};

struct Connection {
  std::unique_ptr<kube::Client> client;
  std::string name_space;
};

// An error if the namespace is not an object's name, too.
Result<Connection> connect_namespace(const ClusterArguments& arguments);

}  // namespace nccl_env::app
