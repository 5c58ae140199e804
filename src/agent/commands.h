// SPDX-License-Identifier: Apache-2.0
// The agent's commands. All but the first return an ExitCode; an error of the first says why it could not
// start.
#pragma once

#include <functional>

#include "nccl_env/node/verbs.h"
#include "nccl_env/packets/queue_pair.h"
#include "nccl_env/program/terminal.h"
#include "nccl_env/result.h"
#include "options.h"

namespace nccl_env::agent {

// run: keeps the table true until SIGTERM or SIGINT.
Status keep_table(const AgentRunArguments& arguments, node::Verbs& verbs);

// show. Problems of the probe go to `err`.
int show_node(const AgentShowArguments& arguments, node::Verbs& verbs, const program::Terminal& terminal);

// resolve: one look from inside a pod. The file is written whatever happens, empty where nothing is certain,
// so that NCCL falls back to its own defaults. `environment` returns a variable's value or null:
// NCCL_ENV_POLICY holds the policy, and constants that differ from node to node have variables of their own
// names. Returns kDone, or with `strict` kFinding if anything is missing.
using Environment = std::function<const char*(const char* name)>;
int resolve_pod(const ResolveArguments& arguments, const Environment& environment,
                const program::Terminal& terminal);

// fabric-test.
int test_fabric(const FabricTestArguments& arguments, const Environment& environment, node::Verbs& verbs,
                const packets::MakeQueuePair& packets, const program::Terminal& terminal);

}  // namespace nccl_env::agent
