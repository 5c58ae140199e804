// SPDX-License-Identifier: Apache-2.0
// TerminationSignals: SIGTERM and SIGINT as a descriptor, for programs that end in good order.
#pragma once

#include <chrono>

#include "nccl_env/base/descriptor.h"

namespace nccl_env::program {

class TerminationSignals {
 public:
  // Blocks SIGTERM and SIGINT in this thread and in threads that it starts later, and ignores SIGPIPE. Create
  // the object before other threads, so that none of them dies of a signal.
  TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // Readable when a signal has come.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // Takes a signal that has come; false if there is none.
  [[nodiscard]] bool came() const;
  // Does the same, but waits for a signal at most this long.
  [[nodiscard]] bool comes_within(std::chrono::milliseconds time) const;

 private:
  Descriptor descriptor_;
};

}  // namespace nccl_env::program
