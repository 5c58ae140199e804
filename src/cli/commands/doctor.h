// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor
#pragma once

#include <string>

#include "commands/diagnosis.h"

namespace nccl_env::cli {

struct DoctorArguments {
  DiagnosisArguments diagnosis;
  bool pods = false;
  std::string name_space;  // of the pods; "": all that are opted in
};

int diagnose_cluster(const DoctorArguments& given, const Console& terminal);

// --pods: finds pods of opted-in namespaces that were missed, or have foreign values. Asks the cluster of
// `arguments`, which may name no other source. `name_space`: the only one to look at, opted in or not; "":
// all that are opted in. Needs list of namespaces (with a name: get), list of pods there, and get of
// ncclpolicies; objects that may not be read are reported and left out.
int diagnose_pods(const std::string& name_space, const DiagnosisArguments& arguments,
                  const Console& terminal);

}  // namespace nccl_env::cli
