// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace nccl_env::app {

// What `work` returns, if it does so in time. If not it is left running on a thread of its own, to the end of
// the process: it must own all that it uses, and nothing may wait for it.
template <class Work>
auto within(std::chrono::milliseconds time, Work work) -> std::optional<decltype(work())> {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(time) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace nccl_env::app
