// SPDX-License-Identifier: Apache-2.0
// The diagnosis of a log: what it all means, and what to do.
#pragma once

#include <string>

#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

// Takes a verification that has all but its sentence. `beside`: a sentence on other ranks that a failure's
// diagnosis begins with; "" for none.
std::string diagnosis_of(const LogVerification& verification, const NcclLog& log, std::string beside = {});

// "MixedNetworks, rank 2: network …": what differs, what it means unless its remedy says so, what to do.
std::string told_as(const Finding& told);

}  // namespace nccl_env
