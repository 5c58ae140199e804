// SPDX-License-Identifier: Apache-2.0
// The program nccl-env as a function (docs/reference/cli.md).
#pragma once

#include "nccl_env/program/terminal.h"

namespace nccl_env::cli {

// Returns an ExitCode. Nothing of a refused input reaches `out`.
int run_cli(int argc, const char* const* argv, const program::Terminal& terminal);

}  // namespace nccl_env::cli
