// SPDX-License-Identifier: Apache-2.0
// Bytes from operator new, in a program that has allocated.cc. Under sanitizers, which have allocators of
// their own, all of them are 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nccl_env::tests {

// Bytes that this thread has allocated and not given back.
std::int64_t allocated_now();
std::int64_t begin_peak();  // a mark for peak_since
std::int64_t peak_since(std::int64_t mark);

// Calls `work`, and returns the most bytes that it had allocated at once.
template <class Work>
std::int64_t peak_of(Work&& work) {
  const std::int64_t mark = begin_peak();
  work();
  return peak_since(mark);
}

}  // namespace nccl_env::tests
