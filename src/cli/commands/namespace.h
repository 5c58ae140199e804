// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor --namespace: whether pods of a namespace can get what its policy wants, found out
// beforehand by dry runs of sample pods.
#pragma once

#include <string>

#include "commands/diagnosis.h"

namespace nccl_env::app {

// A namespace, and the sample pods that are tried in it.
struct NamespaceArguments {
  std::string name;      // "": the fabric is looked at instead
  std::string resource;  // "": those that the policy matches
  std::string cpu = "1";
  std::string memory = "1Gi";
  std::string image = "registry.k8s.io/pause:3.10";
};

void add_namespace_options(CLI::App& app, NamespaceArguments& into);

// Asks the cluster of `source`, which may name nothing else. Needs get of the namespace and of ncclpolicies,
// and create of pods; changes nothing.
int diagnose_namespace(const NamespaceArguments& wanted, const SourceArguments& source,
                       const std::string& output, const Terminal& terminal);

}  // namespace nccl_env::app
