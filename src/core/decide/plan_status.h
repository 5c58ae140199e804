// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nccl_env/core/decide/decide.h"

namespace nccl_env {

// The text of the status annotation: what was set in each container, by source, and what was left out and
// why.
std::string render_status(const Pod& pod, const Plan& plan);

}  // namespace nccl_env
