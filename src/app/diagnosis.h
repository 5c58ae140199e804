// SPDX-License-Identifier: Apache-2.0
// The doctor's diagnosis of what the command line names: what `doctor` and `nodes` print.
#pragma once

#include "fabric_source.h"
#include "nccl_env/core/doctor.h"

namespace nccl_env::app {

SourceFailure read_diagnosis(const DoctorArguments& arguments, std::istream& in, Diagnosis& into);

}  // namespace nccl_env::app
