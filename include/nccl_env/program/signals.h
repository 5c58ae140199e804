// SPDX-License-Identifier: Apache-2.0
// TerminationSignals: SIGTERM and SIGINT as a descriptor, for programs that end in good order.
#pragma once

#include <chrono>

namespace nccl_env::program {

class TerminationSignals {
 public:
  // Blocks SIGTERM and SIGINT in this thread and in threads that it starts later, and ignores SIGPIPE. Create
  // the object before other threads, so that none of them dies of a signal.
  TerminationSignals();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // Readable when a signal has come.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Takes a signal that has come; false if there is none.
  [[nodiscard]] bool came() const;
  // Does the same, but waits for a signal at most this long.
  [[nodiscard]] bool comes_within(std::chrono::milliseconds time) const;

 private:
  int descriptor_ = -1;
};

}  // namespace nccl_env::program
