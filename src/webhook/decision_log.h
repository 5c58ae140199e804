// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "nccl_env/base/log.h"
#include "nccl_env/webhook/admission.h"

namespace nccl_env::webhook {

// One line per decision, at level info; of a dry run at level debug. The review itself is never logged: env
// holds secrets.
void log_decision(Logger& log, const DecisionRecord& record, std::chrono::nanoseconds duration);

}  // namespace nccl_env::webhook
