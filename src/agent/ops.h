// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "metrics.h"
#include "nccl_env/base/log.h"
#include "nccl_env/net/server/server.h"

namespace nccl_env::app {

// /healthz, /readyz and /metrics of the agent, on a thread of its own.
class AgentOps {
 public:
  static Result<std::unique_ptr<AgentOps>> start(const std::string& listen, std::shared_ptr<Logger> log);

  [[nodiscard]] AgentMetrics& metrics() { return metrics_; }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  // The loop turns: without this for five minutes the agent is not healthy.
  void beat() { last_beat_ = std::chrono::steady_clock::now().time_since_epoch().count(); }

 private:
  AgentOps() : metrics_(registry_) { beat(); }
  net::HttpResponse answer(const net::HttpRequest& request) const;

  MetricRegistry registry_;
  AgentMetrics metrics_;
  std::atomic<std::chrono::steady_clock::rep> last_beat_{0};
  std::unique_ptr<net::Server> server_;  // last: its thread ends first
};

}  // namespace nccl_env::app
