// SPDX-License-Identifier: Apache-2.0
#include "repeating.h"

#include <algorithm>
#include <random>
#include <utility>

namespace nccl_env::webhook {

Repeating::Repeating(Round round) : round_(std::move(round)), thread_([this] { run(); }) {}

Repeating::~Repeating() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Repeating::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Repeating::run() {
  for (;;) {
    const std::chrono::milliseconds pause = round_();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [this] { return woken_ || stopping_; });
    if (stopping_) return;
    woken_ = false;
  }
}

Pace::Pace(std::chrono::milliseconds usual) : usual_(usual) {}

std::chrono::milliseconds Pace::after(bool success) {
  constexpr std::chrono::milliseconds kFirst{1000};
  backoff_ = success ? std::chrono::milliseconds(0) : std::min(usual_, std::max(kFirst, 2 * backoff_));
  const auto pause = success ? usual_ : backoff_;
  thread_local std::minstd_rand random{std::random_device()()};
  return pause * std::uniform_int_distribution(80, 120)(random) / 100;
}

}  // namespace nccl_env::webhook
