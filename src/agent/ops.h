// SPDX-License-Identifier: Apache-2.0
// AgentOps: the agent's metrics and health, as seen from outside (docs/reference/agent.md).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/net/server/server.h"

namespace nccl_env::agent {

enum class AgentEvent { Link, Device, Verbs };

// Written by the agent's loop, read by the ops server's thread.
class AgentMetrics {
 public:
  explicit AgentMetrics(MetricRegistry& registry);

  void count_event(AgentEvent source, int count);
  // `verbs`: libibverbs could read the HCAs, too.
  void note_look(const NodeFabric& table, Timestamp now, std::size_t problems, bool verbs,
                 std::chrono::steady_clock::duration took);
  void count_publish(bool succeeded, Timestamp now);
  // Counts that the store no longer holds what was written.
  void count_loss();
  [[nodiscard]] bool present() const { return present_; }

 private:
  std::array<std::atomic<int>, 5> ports_{};  // by state; the last one: not known
  std::atomic<int> problems_{0};
  std::atomic<int> moved_{0};  // addresses whose GID index moved
  std::atomic<bool> verbs_{false};
  std::atomic<std::int64_t> last_publish_{0};  // unix seconds
  std::atomic<bool> present_{false};           // the store holds what was written last
  CounterFamily& events_;
  CounterFamily& publishes_;
  CounterFamily& losses_;
  HistogramFamily& look_duration_;
};

// Serves /healthz, /readyz and /metrics of the agent, on a thread of its own.
class AgentOps {
 public:
  static Result<std::unique_ptr<AgentOps>> start(const std::string& listen, std::shared_ptr<Logger> log);

  [[nodiscard]] AgentMetrics& metrics() { return metrics_; }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  // Called whenever the loop turns: after five minutes without a call the agent is not healthy.
  void beat() { last_beat_ = std::chrono::steady_clock::now().time_since_epoch().count(); }

 private:
  AgentOps() : metrics_(registry_) { beat(); }
  [[nodiscard]] std::string not_live() const;

  MetricRegistry registry_;
  AgentMetrics metrics_;
  std::atomic<std::chrono::steady_clock::rep> last_beat_{0};
  std::unique_ptr<net::Server> server_;  // last: its thread ends first
};

}  // namespace nccl_env::agent
