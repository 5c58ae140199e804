// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of this process, under the names that every Prometheus client gives it (process_*).
#pragma once

#include "nccl_env/base/metrics.h"

namespace nccl_env {

// The start time is that of this call.
void add_process_metrics(MetricRegistry& registry);

}  // namespace nccl_env
