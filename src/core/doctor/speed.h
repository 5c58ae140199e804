// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds RateLow, MtuDiffers.
void check_speed(Report& report);

}  // namespace nccl_env::doctor
