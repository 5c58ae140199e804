// SPDX-License-Identifier: Apache-2.0
// The doctor's diagnosis of the fabric that the command line names: `doctor`, `nodes` and `report` tell of
// it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "commands/command_line.h"
#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env::app {

// The place of a cluster's tables and policies: in `files` (and the policy's) if there are any, in `store`,
// else in the cluster.
struct SourceArguments {
  std::vector<std::string> files;  // with tables
  PolicyArguments policy;          // its file with `files` only
  std::string store;               // "dir:PATH"
  ClusterArguments cluster;        // with neither
};

struct DiagnosisArguments {
  SourceArguments source;
  std::string at;             // RFC 3339; "": now
  std::string max_table_age;  // "": the webhook's, as the policies tell
};

// Tells the objects that were refused, for commands whose output has no findings as such.
void tell_refused(const Diagnosis& diagnosis, std::ostream& err);

void add_diagnosis_options(CLI::App& app, DiagnosisArguments& into);

// A failure's code tells wrong usage from what could not be read.
Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into);
// The same, with what it was made of.
Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into,
                       DoctorInput& from);

}  // namespace nccl_env::app
