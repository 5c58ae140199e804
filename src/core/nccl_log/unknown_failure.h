// SPDX-License-Identifier: Apache-2.0
// Errors in lines that no row knows, by the form that languages and libraries give an error.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns UnknownWarning with the line's own words for an exception's last line and for an error that a
// program calls fatal; nothing for other lines, and for exceptions that only tell of another process's end.
std::optional<NcclFailure> read_unknown_failure(std::string_view line);

}  // namespace nccl_env
