// SPDX-License-Identifier: Apache-2.0
// The program nccl-env-agent as a function. main passes both verbs in, so that nothing else in the programs
// links libibverbs.
#pragma once

#include "nccl_env/node/verbs.h"
#include "nccl_env/packets/queue_pair.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::agent {

// Returns an ExitCode.
int run_agent(int argc, const char* const* argv, node::Verbs& verbs, const packets::MakeQueuePair& packets,
              const program::Terminal& terminal);

}  // namespace nccl_env::agent
