// SPDX-License-Identifier: Apache-2.0
// nccl-env explain job/NAME: all ranks of a job beside each other.
#pragma once

#include "commands/explain_request.h"

namespace nccl_env::app {

int explain_job(const ExplainRequest& request, const Terminal& terminal);

}  // namespace nccl_env::app
