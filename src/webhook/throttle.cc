// SPDX-License-Identifier: Apache-2.0
#include "throttle.h"

#include <utility>

namespace nccl_env::webhook {
namespace {

// Long enough to keep the log small, short enough for a reader who opens the log because of the metric.
constexpr std::chrono::minutes kInterval{1};

}  // namespace

std::optional<std::uint64_t> Throttle::pass(Time now) {
  const std::lock_guard lock(mutex_);
  if (last_ && now < *last_ + kInterval) {
    ++held_back_;
    return std::nullopt;
  }
  last_ = now;
  return std::exchange(held_back_, 0);
}

}  // namespace nccl_env::webhook
