// SPDX-License-Identifier: Apache-2.0
// Points in time as Kubernetes writes them. The core never reads a clock: now is an argument.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

using Timestamp = std::chrono::sys_seconds;

// RFC 3339 in UTC or with an offset, seconds resolution; a fraction is accepted and cut.
Result<Timestamp> parse_timestamp(std::string_view text);
std::string format_timestamp(Timestamp time);  // 2026-11-20T08:00:00Z

}  // namespace nccl_env
