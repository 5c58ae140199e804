// SPDX-License-Identifier: Apache-2.0
// One rank's log with its verdict, as rank_logs.h compares it with those of others.
#pragma once

#include <string>

#include "nccl_env/core/nccl_log/log_verification.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {

struct RankLog {
  std::string name;     // of the pod or file
  std::string problem;  // why its log could not be read; then the rest is empty
  NcclLog log;
  LogVerification verification;
  bool by_hand = false;  // a file that was named, so that NCCL's lines are expected in it
};

}  // namespace nccl_env
