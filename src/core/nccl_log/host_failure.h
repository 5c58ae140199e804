// SPDX-License-Identifier: Apache-2.0
// Lines of what a job stands on: the loader, the kernel's log, HIP's runtime, UCX's parts without its name,
// the launcher.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns the failure that the line tells; nothing if it tells none.
std::optional<NcclFailure> read_host_failure(std::string_view line);
// True for a line that looks like a failure and is not one: what a run prints that ends well.
bool is_harmless_line(std::string_view line);

}  // namespace nccl_env
