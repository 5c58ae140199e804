// SPDX-License-Identifier: Apache-2.0
// nccl-env policy diff: which nodes and pods would get other values under another policy.
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_policy_diff(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
