// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace nccl_env::webhook {

// Calls a function on a thread of its own, over and over: first at once, then after the time that the call
// before said, or when woken.
class Repeating {
 public:
  using Round = std::function<std::chrono::milliseconds()>;

  explicit Repeating(Round round);
  ~Repeating();  // waits for a call that runs
  Repeating(const Repeating&) = delete;
  Repeating& operator=(const Repeating&) = delete;

  void wake();

 private:
  void run();

  const Round round_;
  std::mutex mutex_;  // guards the two below
  bool woken_ = false, stopping_ = false;
  std::condition_variable changed_;
  std::thread thread_;  // last: it starts when everything else is there
};

// How long to wait between rounds: `usual`, or after a failure one second, doubled after each further failure
// up to `usual`. A fifth of jitter keeps replicas from acting at the same time.
class Pace {
 public:
  explicit Pace(std::chrono::milliseconds usual);
  std::chrono::milliseconds after(bool success);

 private:
  const std::chrono::milliseconds usual_;
  std::chrono::milliseconds backoff_{0};
};

}  // namespace nccl_env::webhook
