// SPDX-License-Identifier: Apache-2.0
// Lines of what a job stands on, of which parts vary: the loader's, the kernel's.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns the failure that the line tells; nothing if it tells none.
std::optional<NcclFailure> read_host_failure(std::string_view line);

}  // namespace nccl_env
