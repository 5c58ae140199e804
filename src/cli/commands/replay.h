// SPDX-License-Identifier: Apache-2.0
// nccl-env explain --review: what the webhook answered, again.
#pragma once

#include "commands/commands.h"

namespace nccl_env::app {

// Prints the answer that a webhook with that store gives at --at, byte for byte.
int replay_review(const ExplainArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
