// SPDX-License-Identifier: Apache-2.0
// Metrics of this process as the kernel counts it, under the names that all Prometheus clients use
// (process_*).
#pragma once

#include "nccl_env/base/metrics.h"

namespace nccl_env {

// Reports the time of this call as the start time of the process.
void add_process_metrics(MetricRegistry& registry);

}  // namespace nccl_env
