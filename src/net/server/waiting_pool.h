// SPDX-License-Identifier: Apache-2.0
// WaitingPool: a few threads for work that has to wait, so that no event loop waits. If too many jobs wait,
// the address with most of them loses its last one.
#pragma once

#include <boost/asio/ip/address.hpp>
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
  // Called once: with the number of the pool's thread that it runs on; or with nothing, from stop() or a
  // submit(), if it is not to run. Must not throw.
  using Job = std::function<void(std::optional<int> thread)>;

  // `queue`: how many jobs may wait for a thread. `on_thread_start` runs first on each thread.
  WaitingPool(int threads, std::size_t queue, std::function<void()> on_thread_start);
  ~WaitingPool();  // stops
  WaitingPool(const WaitingPool&) = delete;
  WaitingPool& operator=(const WaitingPool&) = delete;

  void submit(const boost::asio::ip::address& peer, Job job);
  // Waits for the running jobs, and calls the others with nothing. Idempotent; must not be called from a job.
  void stop();

 private:
  struct Waiting {
    boost::asio::ip::address peer;
    Job job;
  };

  void run(int thread);
  Job take_one_too_many();

  const std::size_t queue_limit_;
  std::mutex mutex_;           // guards all below but the threads
  std::deque<Waiting> queue_;  // the front runs next
  bool stopping_ = false;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace nccl_env::net
