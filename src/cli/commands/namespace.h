// SPDX-License-Identifier: Apache-2.0
// nccl-env check --namespace: whether pods of a namespace can get what its policy wants, found out
// beforehand by dry runs of sample pods.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cluster/check_line.h"
#include "cluster/sample_pod.h"
#include "commands/command_line.h"

namespace nccl_env::cli {

// A namespace, and the sample pods that are tried in it.
struct NamespaceArguments {
  std::string name;      // "": the installation is looked at instead
  std::string resource;  // "": those that the policy matches
  SampleSize size;
};

// Returns the option that names the namespace.
CLI::Option* add_namespace_options(CLI::App& app, NamespaceArguments& into);

struct NamespaceReport {
  bool good = false;
  std::string text;
  nlohmann::ordered_json document;
};

// Needs get of the namespace and of ncclpolicies, and create of pods; changes nothing.
Result<NamespaceReport> report_namespace(kube::ApiServer& client, const NamespaceArguments& wanted);

// Tells whether the webhook answers for a pod of an opted-in namespace, the first in which that can be found
// out. Needs list of namespaces, too.
CheckLine try_webhook(kube::ApiServer& client);

}  // namespace nccl_env::cli
