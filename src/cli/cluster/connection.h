// SPDX-License-Identifier: Apache-2.0
// The cluster that a command asks, with the caller's own rights.
//
//   [ ClusterArguments ] --> [ ApiServer ]: [ Kubectl ], or a client in a pod
//                                |                |
//                                v                +--> [ ChildProcess ]
//   [ objects ], logs, [ live_pods ] --> [ context ]: what explains a pod
//
// A command shares one connection with all that it asks, one question after the other. What was read belongs
// to the command.
#pragma once

#include <memory>
#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// Options that choose a cluster and a namespace of it.
struct ClusterArguments {
  std::string kubeconfig;                      // "": as kubectl finds it, or $KUBECONFIG
  std::string context;                         // "": its current one
  std::string name_space;                      // "": the context's
  std::shared_ptr<kube::ApiServer> instead{};  // asked instead of the cluster: a recorder

  [[nodiscard]] bool given() const { return !kubeconfig.empty() || !context.empty() || !name_space.empty(); }
};

// Asks through the kubectl of $PATH. Without one, asks by itself: as the current context of the kubeconfig
// that is named (or $KUBECONFIG) says, else as the service account of the pod; from then on the process
// ignores SIGPIPE. No server is asked yet.
Result<std::shared_ptr<kube::ApiServer>> connect_cluster(const ClusterArguments& arguments);

struct Connection {
  std::shared_ptr<kube::ApiServer> client;
  std::string name_space;
};

// An error also if the namespace is not a valid name.
Result<Connection> connect_namespace(const ClusterArguments& arguments);

}  // namespace nccl_env::cli
