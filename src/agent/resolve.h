// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "nccl_env/program/terminal.h"
#include "options.h"

namespace nccl_env::app {

// nccl-env-agent resolve: one look from inside a pod. The file is written whatever happens, empty where
// nothing is certain, so that NCCL falls back to its own defaults. `environment` tells the value of a
// variable, null where it is not set: the policy is NCCL_ENV_POLICY's, and constants that differ from node to
// node stand there by their own names. Returns an ExitCode: kDone, or with `strict` kFinding where anything
// is missing.
using Environment = std::function<const char*(const char* name)>;
int resolve_pod(const ResolveArguments& arguments, const Environment& environment, const Terminal& terminal);

}  // namespace nccl_env::app
