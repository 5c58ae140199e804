// SPDX-License-Identifier: Apache-2.0
#include "server/waiting_pool.h"

#include <utility>

namespace nccl_env::net {

WaitingPool::WaitingPool(int threads, std::size_t queue, std::function<void()> on_thread_start)
    : queue_limit_(queue) {
  threads_.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i, on_thread_start] {
      on_thread_start();
      run(i);
    });
  }
}

WaitingPool::~WaitingPool() {
  stop();
}

bool WaitingPool::submit(Job job) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || jobs_.size() >= queue_limit_) return false;
  jobs_.push_back(std::move(job));
  changed_.notify_one();
  return true;
}

void WaitingPool::run(int thread) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job(thread);
  }
}

void WaitingPool::stop() {
  std::deque<Job> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(jobs_);
  }
  changed_.notify_all();
  for (const Job& job : left) job(std::nullopt);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace nccl_env::net
