// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/node/verbs.h"
#include "nccl_env/program/terminal.h"
#include "options.h"

namespace nccl_env::app {

// nccl-env-agent show. Returns an ExitCode; problems of the probe go to `err`.
int show_node(const AgentShowArguments& arguments, node::Verbs& verbs, const Terminal& terminal);

}  // namespace nccl_env::app
