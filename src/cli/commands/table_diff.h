// SPDX-License-Identifier: Apache-2.0
// nccl-env table diff: what is different on nodes since other tables of them were made.
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_table_diff(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
