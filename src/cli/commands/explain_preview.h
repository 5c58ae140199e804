// SPDX-License-Identifier: Apache-2.0
// nccl-env explain -f: the values that a manifest's pods would get, and what NCCL makes of them.
#pragma once

#include "commands/explain.h"

namespace nccl_env::app {

int preview_pods(const ExplainArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
