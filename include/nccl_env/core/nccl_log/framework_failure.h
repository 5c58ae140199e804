// SPDX-License-Identifier: Apache-2.0
// Lines in which a framework speaks of NCCL, without "NCCL WARN": PyTorch, JAX, TensorFlow, vLLM, nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns the failure that the line tells; nothing if it tells none.
std::optional<NcclFailure> read_framework_failure(std::string_view line);
// The address of the peer, in a line that goes on where Gloo's failure was told: "timed out connecting:
// SO_ERROR: Connection refused, remote=[127.0.0.1]:21990".
std::optional<std::string> read_gloo_remote(std::string_view line);
// Returns the number of the last collective that PyTorch's watchdog saw completed; nothing in other lines,
// and where none was completed.
std::optional<std::uint64_t> read_completed_collective(std::string_view line);

}  // namespace nccl_env
