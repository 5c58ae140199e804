// SPDX-License-Identifier: Apache-2.0
// The webhook program: store, certificates, the two servers, and their life from start to drain.
//
//   [ HTTP request ] --> [ Requests ] -- a review and the newest --> [ Snapshot ] <-- [ Store ]
//                             |
//                             v
//                      [ Admission ] --> [ response ] + [ DecisionRecord ] --> metrics, log
//
// Webhook owns everything and ends it in the opposite order. Requests keeps an Admission for each thread,
// with its buffers: parsers, and the plans of nodes by BindingCache. A snapshot belongs to whoever holds it;
// a plan shares its policy. A record's views lead into the review's text and into the buffers, so it is
// counted and logged before the thread reads its next review. The certificate (certificates/plan.h) and the
// conditions of policies have threads of their own and see no review.
#pragma once

#include "nccl_env/result.h"
#include "options.h"

namespace nccl_env::webhook {

// Runs until SIGTERM or SIGINT, then drains; a second signal stops at once. Fails only at the start.
// Blocks these signals in the calling thread, which must be the first.
Status run_webhook(const WebhookOptions& options);

}  // namespace nccl_env::webhook
