// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor
#pragma once

#include <string>

#include "commands/diagnosis.h"
#include "commands/namespace.h"

namespace nccl_env::app {

struct DoctorArguments {
  DiagnosisArguments diagnosis;
  NamespaceArguments of_namespace;
  bool pods = false;
  std::string output = "text";
};

int diagnose_cluster(const DoctorArguments& given, const Terminal& terminal);

void add_doctor(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
