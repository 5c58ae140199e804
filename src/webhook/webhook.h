// SPDX-License-Identifier: Apache-2.0
// The webhook program: store, certificates, the two servers, and their life from start to drain.
#pragma once

#include "nccl_env/result.h"
#include "options.h"

namespace nccl_env::webhook {

// Runs until SIGTERM or SIGINT, then drains; a second signal stops at once. Fails only at the start.
// Blocks these signals in the calling thread, which must be the first.
Status run_webhook(const WebhookOptions& options);

}  // namespace nccl_env::webhook
