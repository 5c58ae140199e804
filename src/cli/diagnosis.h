// SPDX-License-Identifier: Apache-2.0
// The doctor's diagnosis of what the command line names: what `doctor`, `nodes` and `report` tell.
#pragma once

#include "fabric_source.h"
#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env::app {

SourceFailure read_diagnosis(const DoctorArguments& arguments, std::istream& in, Diagnosis& into);
// The same, with what it was made of.
SourceFailure read_diagnosis(const DoctorArguments& arguments, std::istream& in, Diagnosis& into,
                             DoctorInput& from);

}  // namespace nccl_env::app
