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
  ReadBudget(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Returns false if there is none left.
  bool take(Moment now) {
    const std::lock_guard lock(mutex_);
    left_ = std::min(burst_, left_ + std::chrono::duration<double>(now - seen_).count() * per_second_);
    seen_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  const double per_second_, burst_;
  std::mutex mutex_;  // guards both
  double left_ = burst_;
  Moment seen_ = std::chrono::steady_clock::now();
};

}  // namespace nccl_env::store
