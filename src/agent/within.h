// SPDX-License-Identifier: Apache-2.0
// A call that is given up after a while.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace nccl_env::agent {

// Runs `work` on its own thread. Returns its result, or nothing after `time`; the thread then keeps running
// until the process ends, so `work` must own all that it uses, and nothing may wait for it. A thread that
// sleeps in the kernel without interruption keeps the process from ending; its caller can go on with other
// work, but not exit.
template <class Work>
auto within(std::chrono::milliseconds time, Work work) -> std::optional<decltype(work())> {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(time) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace nccl_env::agent
