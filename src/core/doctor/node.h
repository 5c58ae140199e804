// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds NoFabric, StaleTable.
void check_node(Report& report);

}  // namespace nccl_env::doctor
