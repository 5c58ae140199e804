// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor
#pragma once

#include <string>

#include "commands/diagnosis.h"

namespace nccl_env::app {

struct DoctorArguments {
  DiagnosisArguments diagnosis;
  bool pods = false;
  std::string name_space;  // of the pods; "": all that are opted in
  std::string output = "text";
};

int diagnose_cluster(const DoctorArguments& given, const Terminal& terminal);

void add_doctor(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
