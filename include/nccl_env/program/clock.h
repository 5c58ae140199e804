// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::program {

// The time of day, in whole seconds. Only programs ask for it; everything below gets it as an argument.
inline Timestamp clock_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace nccl_env::program
