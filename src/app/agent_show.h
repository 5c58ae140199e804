// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent_options.h"
#include "nccl_env/app/cli.h"
#include "nccl_env/verbs/verbs.h"

namespace nccl_env::app {

// nccl-env-agent show. Returns an ExitCode; problems of the probe go to `err`.
int show_node(const AgentShowArguments& arguments, verbs::Verbs& verbs, const Terminal& terminal);

}  // namespace nccl_env::app
