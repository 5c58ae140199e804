// SPDX-License-Identifier: Apache-2.0
#include "server/waiting_pool.h"

#include <algorithm>
#include <iterator>
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

void WaitingPool::submit(const boost::asio::ip::address& peer, Job job) {
  Job too_many;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      too_many = std::move(job);
    } else {
      queue_.push_back({peer, std::move(job)});
      if (queue_.size() > queue_limit_) too_many = take_one_too_many();
    }
  }
  changed_.notify_one();
  if (too_many) too_many(std::nullopt);
}

// Among addresses with as many, the one that asked last loses.
WaitingPool::Job WaitingPool::take_one_too_many() {
  const auto jobs_of = [this](const Waiting& some) {
    return std::count_if(queue_.begin(), queue_.end(), [&](const Waiting& w) { return w.peer == some.peer; });
  };
  const auto most = std::max_element(queue_.rbegin(), queue_.rend(), [&](const Waiting& a, const Waiting& b) {
    return jobs_of(a) < jobs_of(b);
  });
  Job job = std::move(most->job);
  queue_.erase(std::next(most).base());
  return job;
}

void WaitingPool::run(int thread) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      job = std::move(queue_.front().job);
      queue_.pop_front();
    }
    job(thread);
  }
}

void WaitingPool::stop() {
  std::deque<Waiting> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(queue_);
  }
  changed_.notify_all();
  for (const Waiting& waiting : left) waiting.job(std::nullopt);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace nccl_env::net
