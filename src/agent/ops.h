// SPDX-License-Identifier: Apache-2.0
// AgentOps: the agent's metrics and health, as seen from outside (docs/reference/agent.md).
#pragma once

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
  AgentMetrics(MetricRegistry& registry, const Logger& log);

  void count_event(AgentEvent source, int count);
  // `verbs`: libibverbs could read the HCAs, too.
  void note_look(const NodeFabric& table, Timestamp now, std::size_t problems, bool verbs,
                 std::chrono::steady_clock::duration took);
  void count_publish(bool succeeded, Timestamp now);
  // Counts that the store no longer holds what was written.
  void count_loss();
  [[nodiscard]] bool present() const { return present_.value() != 0; }

 private:
  MetricRegistry& registry_;  // first: the rows below are made in it

  GaugeFamily& ports_ = registry_.add_gauge({"nccl_env_agent_ports",
                                             "HCA ports of the node by state.",
                                             {"state"},
                                             {{"Active"}, {"Armed"}, {"Init"}, {"Down"}, {"Unknown"}}});
  GaugeFamily& problems_ = registry_.add_gauge({"nccl_env_agent_problems",
                                                "Values that could not be read at the last look; the log "
                                                "names them. A missing /dev/infiniband does not "
                                                "count."});
  GaugeFamily& moved_ = registry_.add_gauge({"nccl_env_agent_gid_index_moved",
                                             "Addresses of HCA ports whose GID index moved within the last "
                                             "day. Pods that hold the old index are not "
                                             "counted: nccl-env doctor names them."});
  GaugeFamily& verbs_ = registry_.add_gauge(
      {"nccl_env_agent_verbs",
       "1 if libibverbs reads the HCAs, too, or there are none; 0: sysfs alone, because not one HCA could be "
       "opened (no /dev/infiniband), or --no-verbs."});
  CounterFamily& events_ = registry_.add_counter(
      {"nccl_env_agent_events_total",
       "Events that made the agent look again: link (rtnetlink), device (uevents), verbs.",
       {"source"},
       {{"link"}, {"device"}, {"verbs"}}});
  CounterFamily& publishes_ = registry_.add_counter({"nccl_env_agent_publishes_total",
                                                     "Writes of the node's table.",
                                                     {"outcome"},
                                                     {{"succeeded"}, {"failed"}}});
  GaugeFamily& present_ = registry_.add_gauge({"nccl_env_agent_table_present",
                                               "1 while the store holds the table that was written last, as "
                                               "far as is known; 0 before the first time."});
  CounterFamily& losses_ = registry_.add_counter(
      {"nccl_env_agent_tables_lost_total", "Times that the table was gone or changed by others."});
  GaugeFamily& last_publish_ = registry_.add_gauge(
      {"nccl_env_agent_last_publish_timestamp_seconds",
       "When the table was last written; 0, and so an age beyond all limits, before the first time."});
  HistogramFamily& look_duration_ = registry_.add_histogram(
      {"nccl_env_agent_look_duration_seconds",
       "Histogram: reading all devices and interfaces once. Its count is the number of looks."},
      {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3});
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
  explicit AgentOps(const Logger& log) : metrics_(registry_, log) { beat(); }
  [[nodiscard]] std::string not_live() const;

  MetricRegistry registry_;
  AgentMetrics metrics_;
  std::atomic<std::chrono::steady_clock::rep> last_beat_{0};
  std::unique_ptr<net::Server> server_;  // last: its thread ends first
};

}  // namespace nccl_env::agent
