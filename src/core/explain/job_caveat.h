// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/job_checks.h"

namespace nccl_env::job {

// A sentence that follows on that of a healthy job: a rank that has no pod, tables that are too old, or
// values that could not be compared; "" if there is none.
std::string caveat(const View& view);

}  // namespace nccl_env::job
