// SPDX-License-Identifier: Apache-2.0
// nccl-env check
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_installation_check(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
