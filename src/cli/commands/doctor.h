// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "commands/command_line.h"
#include "nccl_env/judge/doctor/doctor.h"

namespace nccl_env::cli {

// Where tables and policies come from: `files` and the policy's file if given, else `store` if given, else
// the cluster.
struct SourceArguments {
  std::vector<std::string> files;  // with tables
  // Its file: only together with `files`. Constants that load code are for the webhook to refuse.
  program::PolicyArguments policy{{}, {}, true};
  std::string store;         // "dir:PATH"
  ClusterArguments cluster;  // without files and store
};

struct DiagnosisArguments {
  SourceArguments source;
  std::string at;             // RFC 3339; "": now
  std::string max_table_age;  // "": the webhook's, as the policies tell
};

// Prints which objects were refused, for commands whose output has no findings.
void tell_refused(const Diagnosis& diagnosis, std::ostream& err);

void add_diagnosis_options(CLI::App& app, DiagnosisArguments& into);

// Fails with kUsage, or with kNotSeen for what could not be read.
program::Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into,
                                DoctorInput& from);

struct DoctorArguments {
  DiagnosisArguments diagnosis;
  bool pods = false;
  std::string name_space;  // of the pods; "": all that are opted in
};

int diagnose_cluster(const DoctorArguments& arguments, const Console& terminal);

}  // namespace nccl_env::cli
