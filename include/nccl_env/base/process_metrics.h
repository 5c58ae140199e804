// SPDX-License-Identifier: Apache-2.0
// Metrics of this process as the kernel counts it, under the names that all Prometheus clients use
// (process_*), and of its log.
#pragma once

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"

namespace nccl_env {

// Reports the time of this call as the start time of the process. `log` outlives the registry's last render.
void add_process_metrics(MetricRegistry& registry, const Logger& log);

}  // namespace nccl_env
