// SPDX-License-Identifier: Apache-2.0
// nccl-env policy test: pods, tables and a policy, and the answers that are expected of them.
#pragma once

#include "commands/command_line.h"

namespace nccl_env::app {

void add_policy_cases(CommandLine& line, CLI::App& parent);

}  // namespace nccl_env::app
