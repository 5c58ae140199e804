// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/base/metrics.h"

namespace nccl_env::program {

// Adds nccl_env_build_info: the program's version, and the releases of NCCL whose rules it knows.
void add_build_info(MetricRegistry& registry);

}  // namespace nccl_env::program
