// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent_options.h"
#include "nccl_env/base/result.h"
#include "nccl_env/verbs/verbs.h"

namespace nccl_env::app {

// nccl-env-agent run: keeps the table true until SIGTERM or SIGINT. An error: it could not start.
Status keep_table(const AgentRunArguments& arguments, verbs::Verbs& verbs);

}  // namespace nccl_env::app
