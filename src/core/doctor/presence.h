// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds HcaMissing, HcasDiffer, HardwareDiffers, PortDown.
void check_presence(Report& report);

}  // namespace nccl_env::doctor
