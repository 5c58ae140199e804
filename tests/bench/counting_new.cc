// SPDX-License-Identifier: Apache-2.0
#include "bench/counting_new.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t calls = 0;
}  // namespace

namespace nccl_env::bench {
std::uint64_t allocations() {
  return calls;
}
}  // namespace nccl_env::bench

// The array and nothrow forms of the standard library call this one.
void* operator new(std::size_t size) {
  ++calls;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
