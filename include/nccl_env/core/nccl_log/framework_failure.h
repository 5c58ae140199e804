// SPDX-License-Identifier: Apache-2.0
// Lines in which a framework tells NCCL's error, without "NCCL WARN": PyTorch, JAX, nccl-tests.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns the failure that the line tells; nothing if it tells none.
std::optional<NcclFailure> read_framework_failure(std::string_view line);

}  // namespace nccl_env
