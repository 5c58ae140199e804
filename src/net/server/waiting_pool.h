// SPDX-License-Identifier: Apache-2.0
// WaitingPool: a few threads for work that waits for others, so that an event loop doesn't.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace nccl_env::net {

class WaitingPool {
 public:
  // Called once: with the number of the pool's thread that it runs on, or with nothing, from stop(), if it
  // is not to run any more. Must not throw.
  using Job = std::function<void(std::optional<int> thread)>;

  // `queue`: how many jobs may wait for a thread. `on_thread_start` runs first on each thread.
  WaitingPool(int threads, std::size_t queue, std::function<void()> on_thread_start);
  ~WaitingPool();  // stops
  WaitingPool(const WaitingPool&) = delete;
  WaitingPool& operator=(const WaitingPool&) = delete;

  // False: the queue is full, or stop() was called; the job is never called then.
  bool submit(Job job);
  // Waits for jobs that run; those that didn't begin are told. Idempotent; not from a job.
  void stop();

 private:
  void run(int thread);

  const std::size_t queue_limit_;
  std::mutex mutex_;  // guards the two below
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace nccl_env::net
