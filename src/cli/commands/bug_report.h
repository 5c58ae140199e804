// SPDX-License-Identifier: Apache-2.0
// nccl-env bug-report
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_bug_report(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
