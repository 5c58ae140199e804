// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace nccl_env::store {

// So many reads a second, and a burst: what strangers can have us ask the API server for must not add up
// there. From any thread.
class ReadBudget {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr double kPerSecond = 20, kBurst = 50;

  // Returns false if there is none left.
  bool take(Moment now) {
    const std::lock_guard lock(mutex_);
    left_ = std::min(kBurst, left_ + std::chrono::duration<double>(now - seen_).count() * kPerSecond);
    seen_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  std::mutex mutex_;  // guards both
  double left_ = kBurst;
  Moment seen_ = std::chrono::steady_clock::now();
};

}  // namespace nccl_env::store
