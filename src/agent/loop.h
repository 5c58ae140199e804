// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/node/verbs.h"
#include "nccl_env/result.h"
#include "options.h"

namespace nccl_env::app {

// nccl-env-agent run: keeps the table true until SIGTERM or SIGINT. An error: it could not start.
Status keep_table(const AgentRunArguments& arguments, node::Verbs& verbs);

}  // namespace nccl_env::app
