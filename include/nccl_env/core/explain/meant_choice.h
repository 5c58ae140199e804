// SPDX-License-Identifier: Apache-2.0
// A user's own choice for NCCL that may be meant: a network that is off, a shorter list. It stands in the
// first line, although nothing may be wrong.
#pragma once

#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

bool is_meant_choice(const Finding& finding);
// Finds the first of them; null if there is none.
const Finding* meant_choice(const std::vector<Finding>& findings);

}  // namespace nccl_env
