// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds NoAddress, GidIndexDiffers.
void check_index(Report& report);

}  // namespace nccl_env::doctor
