// SPDX-License-Identifier: Apache-2.0
// Lines in which a framework speaks of NCCL, without "NCCL WARN": PyTorch, JAX, TensorFlow, vLLM, nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns the failure that the line tells; nothing if it tells none.
std::optional<NcclFailure> read_framework_failure(std::string_view line);
// Returns the number of the last collective that PyTorch's watchdog saw completed; nothing in other lines,
// and where none was completed.
std::optional<std::uint64_t> read_completed_collective(std::string_view line);

}  // namespace nccl_env
