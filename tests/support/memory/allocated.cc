// SPDX-License-Identifier: Apache-2.0
#include "support/memory/allocated.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "support/sanitized.h"

namespace {

thread_local std::int64_t allocated = 0;
thread_local std::int64_t peak = 0;

}  // namespace

namespace nccl_env::tests {

std::int64_t allocated_now() {
  return allocated;
}
std::int64_t begin_peak() {
  peak = allocated;
  return allocated;
}
std::int64_t peak_since(std::int64_t mark) {
  return peak - mark;
}

}  // namespace nccl_env::tests

#if !NCCL_ENV_SANITIZED
// The array and nothrow forms of the standard library call these.
void* operator new(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  allocated += static_cast<std::int64_t>(malloc_usable_size(memory));
  peak = std::max(peak, allocated);
  return memory;
}
void operator delete(void* memory) noexcept {
  allocated -= static_cast<std::int64_t>(malloc_usable_size(memory));  // 0 of a null pointer
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
#endif
