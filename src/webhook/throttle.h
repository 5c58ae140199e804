// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace nccl_env::webhook {

// Lets one log line a minute through, where strangers can cause any number. Any thread may call.
class Throttle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Returns how many lines were held back since the last one; nothing if this one has to be held back, too.
  std::optional<std::uint64_t> pass(Time now);

 private:
  std::mutex mutex_;
  std::optional<Time> last_;
  std::uint64_t held_back_ = 0;
};

}  // namespace nccl_env::webhook
