// SPDX-License-Identifier: Apache-2.0
// nccl-env explain --review: the answer of the webhook, again.
#pragma once

#include "commands/explain.h"

namespace nccl_env::app {

// Prints the answer that a webhook with that store gives at --at, byte for byte.
int replay_review(const ExplainArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
