// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds GidIndexMoved, of ports.
void check_drift(Report& report);

}  // namespace nccl_env::doctor
