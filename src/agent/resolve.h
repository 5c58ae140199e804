// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_env/program/terminal.h"
#include "options.h"

namespace nccl_env::app {

// nccl-env-agent resolve: one look from inside a pod. The file is written whatever happens, empty where
// nothing is certain, so that NCCL falls back to its own defaults. `policy` is the value of NCCL_ENV_POLICY.
// Returns an ExitCode: kDone, or with `strict` kRefused where anything is missing.
int resolve_pod(const ResolveArguments& arguments, const char* policy, const Terminal& terminal);

}  // namespace nccl_env::app
