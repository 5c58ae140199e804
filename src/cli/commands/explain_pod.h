// SPDX-License-Identifier: Apache-2.0
// nccl-env explain pod/NAME: the values that a pod has, and why.
#pragma once

#include "commands/explain_request.h"

namespace nccl_env::app {

int explain_pod(const ExplainRequest& request, const Terminal& terminal);

}  // namespace nccl_env::app
