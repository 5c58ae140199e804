// SPDX-License-Identifier: Apache-2.0
// WaitingPool: a few threads for work that has to wait, so that no event loop waits. A peer that asks for
// much does not delay peers that ask for little: peers take turns, and if the queue is full, the peer with
// most jobs in it loses the job of its busiest connection.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
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

  // A connection; the pool keeps `asked` in it.
  struct Asker {
    boost::asio::ip::address peer;
    std::uint64_t asked = 0;  // the number of its last submit(); 0: none yet
  };

  // `queue`: how many jobs may wait for a thread. `on_thread_start` runs first on each thread.
  WaitingPool(int threads, std::size_t queue, std::function<void()> on_thread_start);
  ~WaitingPool();  // stops
  WaitingPool(const WaitingPool&) = delete;
  WaitingPool& operator=(const WaitingPool&) = delete;

  void submit(Asker& asker, Job job);
  // Waits for the running jobs, and calls the others with nothing. Idempotent; must not be called from a job.
  void stop();

 private:
  struct Waiting {
    std::uint64_t asked_before;  // the connection's ask before this one
    Job job;
  };
  struct Line {  // never empty
    boost::asio::ip::address peer;
    std::uint64_t asked_before;  // the peer's ask before its last one
    std::deque<Waiting> jobs;
  };

  void run(int thread);
  void put_in_line(Asker& asker, Job job);
  Job take_next();
  Job take_one_too_many();

  const std::size_t queue_limit_;
  std::mutex mutex_;         // guards all below but the threads
  std::list<Line> lines_;    // the front has its turn next
  std::size_t waiting_ = 0;  // jobs in all lines
  std::uint64_t asks_ = 0;
  std::map<boost::asio::ip::address, std::uint64_t> asked_;  // each peer's last submit()
  bool stopping_ = false;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace nccl_env::net
