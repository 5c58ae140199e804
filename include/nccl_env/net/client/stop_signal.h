// SPDX-License-Identifier: Apache-2.0
// StopSignal: ends the waits of other threads.
#pragma once

#include <chrono>

#include "nccl_env/base/descriptor.h"

namespace nccl_env::net {

using Deadline = std::chrono::steady_clock::time_point;

// Ends all waits in its member functions, at once and for good. Any thread may set it.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void set();
  [[nodiscard]] bool is_set() const;
  // Waits until `deadline` at most; true if the signal is set.
  [[nodiscard]] bool wait_until(Deadline deadline) const;
  // Waits until `deadline` at most for `events` of `descriptor`, as poll() names them; a negative descriptor
  // has none. Returns > 0 if an event came, 0 if the deadline is over, < 0 if the signal is set.
  [[nodiscard]] int wait_for(int descriptor, short events, Deadline deadline) const;
  // Readable once the signal is set.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

}  // namespace nccl_env::net
