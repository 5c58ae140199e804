// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/clock.h"

#include <chrono>

namespace nccl_env::app {

Timestamp clock_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace nccl_env::app
