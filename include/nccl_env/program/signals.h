// SPDX-License-Identifier: Apache-2.0
// TerminationSignals: SIGTERM and SIGINT as a descriptor, for programs that end in good order.
#pragma once

#include <chrono>

namespace nccl_env::app {

class TerminationSignals {
 public:
  // Blocks the two, and ignores SIGPIPE, in this thread and those that it starts: make it before other
  // threads, so that none dies of a signal.
  TerminationSignals();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // Readable when one has come.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Takes a signal that has come; false if there is none.
  [[nodiscard]] bool came() const;
  // The same, after waiting for it this long.
  [[nodiscard]] bool comes_within(std::chrono::milliseconds time) const;

 private:
  int descriptor_ = -1;
};

}  // namespace nccl_env::app
