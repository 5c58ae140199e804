// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace nccl_env::app {

// Lets one line a minute through, of what strangers can cause as often as they like. Any thread may call.
class Throttle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How many were held back since the last line; nothing where this one is to be held back, too.
  std::optional<std::uint64_t> pass(Time now);

 private:
  std::mutex mutex_;
  std::optional<Time> last_;
  std::uint64_t held_back_ = 0;
};

}  // namespace nccl_env::app
