// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nccl_env::bench {

// Calls of operator new by this thread so far, in a program that has counting_new.cc.
std::uint64_t allocations();

}  // namespace nccl_env::bench
