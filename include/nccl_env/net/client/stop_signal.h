// SPDX-License-Identifier: Apache-2.0
// StopSignal: ends the waits of other threads.
#pragma once

#include <chrono>

namespace nccl_env::net {

using Deadline = std::chrono::steady_clock::time_point;

// Ends every wait that was given it: at once, from any thread, and for good.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void set();
  [[nodiscard]] bool is_set() const;
  // Waits until `deadline` at most; true if the signal is set.
  [[nodiscard]] bool wait_until(Deadline deadline) const;
  // Waits until `deadline` at most for `events` of `descriptor`, as poll() names them; < 0 is not a
  // descriptor. Returns > 0 if it has one, 0 if the deadline is over, < 0 if the signal is set.
  [[nodiscard]] int wait_for(int descriptor, short events, Deadline deadline) const;
  // Readable once the signal is set.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace nccl_env::net
