// SPDX-License-Identifier: Apache-2.0
// Waits for what happens on another thread or in another program.
#pragma once

#include <chrono>
#include <string>
#include <thread>

namespace nccl_env::tests {

// Under sanitizers, with other tests beside it, a program may take long; no test waits this long if all is
// well.
inline constexpr std::chrono::seconds kPatience{30};

// Waits until `finished` says so; false after kPatience.
template <class Finished>
bool eventually(Finished finished) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!finished()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// True if a request failed because a busy machine missed its deadline.
template <class Found>
bool is_late(const Found& found) {
  return !found && found.error().message.find("the deadline is over") != std::string::npos;
}

// Reads, and reads again where a busy machine misses the deadline: twenty times at most.
template <class Read>
auto read_in_time(const Read& read) {
  auto found = read();
  for (int tries = 1; tries < 20 && is_late(found); ++tries) found = read();
  return found;
}

}  // namespace nccl_env::tests
