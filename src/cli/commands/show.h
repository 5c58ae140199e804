// SPDX-License-Identifier: Apache-2.0
// nccl-env table show
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_show(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
