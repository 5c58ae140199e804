// SPDX-License-Identifier: Apache-2.0
// Failures in lines that no row knows, by the forms that shells, launchers and languages give them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns Killed or Crashed for a line that tells an exit code of a signal: "exit code: -9", "status 137".
std::optional<NcclFailure> read_process_end(std::string_view line);
// Returns the row of a process that was asked to end after another one failed.
const KnownLine& asked_to_end();
// Returns a line that begins with an exception's name, such as a traceback's last; "" of another line.
std::string exception_of(std::string_view line);
// Returns UnknownWarning with the line's own words for an exception's last line and for an error that a
// program calls fatal, and TimedOut where the program waited; nothing for other lines, and for exceptions
// that only tell of another process's end. `behind`: other ranks told before it that they lost this one.
std::optional<NcclFailure> read_unknown_failure(std::string_view line, bool behind);

}  // namespace nccl_env
