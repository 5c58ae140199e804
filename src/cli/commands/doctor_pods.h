// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor --pods: the pods of a cluster's opted-in namespaces that were missed, or have foreign
// values.
#pragma once

#include <string>

#include "commands/diagnosis.h"

namespace nccl_env::app {

// Asks the cluster of `arguments`, which may name nothing else. `name_space`: looked at alone, opted in or
// not; "": all that are opted in. Needs list of namespaces (with a name: get), list of pods there, and get of
// ncclpolicies; what may not be read is told and left out.
int diagnose_pods(const std::string& name_space, const DiagnosisArguments& arguments,
                  const std::string& output, const Terminal& terminal);

}  // namespace nccl_env::app
