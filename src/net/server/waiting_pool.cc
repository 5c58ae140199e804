// SPDX-License-Identifier: Apache-2.0
#include "server/waiting_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nccl_env::net {
namespace {

constexpr std::size_t kPeersRemembered = 4096;  // then all are forgotten, as if none had asked

}  // namespace

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

void WaitingPool::submit(Asker& asker, Job job) {
  Job too_many;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      too_many = std::move(job);
    } else {
      put_in_line(asker, std::move(job));
      if (waiting_ > queue_limit_) too_many = take_one_too_many();
    }
  }
  changed_.notify_one();
  if (too_many) too_many(std::nullopt);
}

void WaitingPool::put_in_line(Asker& asker, Job job) {
  if (asked_.size() >= kPeersRemembered) asked_.clear();
  const std::uint64_t now = ++asks_;
  const std::uint64_t peer_before = std::exchange(asked_[asker.peer], now);
  auto line = std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.peer == asker.peer; });
  if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{asker.peer, 0, {}});
  line->asked_before = peer_before;
  line->jobs.push_back({std::exchange(asker.asked, now), std::move(job)});
  ++waiting_;
}

WaitingPool::Job WaitingPool::take_next() {
  Line& line = lines_.front();
  Job job = std::move(line.jobs.front().job);
  line.jobs.pop_front();
  --waiting_;
  if (line.jobs.empty()) {
    lines_.pop_front();
  } else {
    lines_.splice(lines_.end(), lines_, lines_.begin());
  }
  return job;
}

// Takes a job of the peer with most jobs in the queue, from the connection whose ask before that job was the
// most recent; among equals, the last job. So a flood displaces its own jobs first.
WaitingPool::Job WaitingPool::take_one_too_many() {
  const auto line = std::max_element(lines_.rbegin(), lines_.rend(), [](const Line& a, const Line& b) {
    return std::pair(a.jobs.size(), a.asked_before) < std::pair(b.jobs.size(), b.asked_before);
  });
  const auto busiest =
      std::max_element(line->jobs.rbegin(), line->jobs.rend(),
                       [](const Waiting& a, const Waiting& b) { return a.asked_before < b.asked_before; });
  Job job = std::move(busiest->job);
  line->jobs.erase(std::next(busiest).base());
  --waiting_;
  if (line->jobs.empty()) lines_.erase(std::next(line).base());
  return job;
}

void WaitingPool::run(int thread) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
      if (lines_.empty()) return;
      job = take_next();
    }
    job(thread);
  }
}

void WaitingPool::stop() {
  std::list<Line> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(lines_);
    waiting_ = 0;
  }
  changed_.notify_all();
  for (const Line& line : left) {
    for (const Waiting& waiting : line.jobs) waiting.job(std::nullopt);
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace nccl_env::net
