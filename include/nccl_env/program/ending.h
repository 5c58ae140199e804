// SPDX-License-Identifier: Apache-2.0
// Ends programs that log: their last line is JSON, too, even if they could not start.
#pragma once

#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::program {

// Puts the option that has to change before the error's message.
Error at_option(std::string_view option, const Error& error);

// Returns the exit code: 0, or 1 after a line "could not start" on stderr, at every log level.
int end_logged(const Status& ran);

// From now on an exception that nothing catches, in any thread, is logged before the process aborts.
void log_uncaught_exceptions();

}  // namespace nccl_env::program
