// SPDX-License-Identifier: Apache-2.0
// What the agent counts (docs/agent.md). Written by the agent's loop, read by the ops server's thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>

#include "nccl_env/base/metrics.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::app {

enum class AgentEvent { Link, Device, Verbs };

class AgentMetrics {
 public:
  explicit AgentMetrics(MetricRegistry& registry);

  void count_event(AgentEvent source, int count);
  // `verbs`: whether libibverbs could read the HCAs, too.
  void note_look(const NodeFabric& table, std::size_t problems, bool verbs,
                 std::chrono::steady_clock::duration took);
  void count_publish(bool succeeded, Timestamp now);
  [[nodiscard]] bool published() const { return last_publish_ != 0; }

 private:
  std::array<std::atomic<int>, 5> ports_{};  // by state; the last one: not known
  std::atomic<int> problems_{0};
  std::atomic<bool> verbs_{false};
  std::atomic<std::int64_t> last_publish_{0};  // unix seconds
  CounterFamily& events_;
  CounterFamily& publishes_;
  HistogramFamily& look_duration_;
};

}  // namespace nccl_env::app
