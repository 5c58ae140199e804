// SPDX-License-Identifier: Apache-2.0
#include "ops.h"

#include "nccl_env/program/version.h"

namespace nccl_env::app {
namespace {

constexpr std::size_t kUnknownState = 4;
// Several times the longest look, and longer than the pause between two.
constexpr std::chrono::minutes kLongestSilence{5};

net::HttpResponse plain(int status, const char* text) {
  return {status, "text/plain", text, {}, false};
}

}  // namespace

AgentMetrics::AgentMetrics(MetricRegistry& registry)
    : events_(registry.add_counter({"nccl_env_agent_events_total",
                                    "Events that made the agent look again.",
                                    {"source"},
                                    {{"link"}, {"device"}, {"verbs"}}})),
      publishes_(registry.add_counter({"nccl_env_agent_publishes_total",
                                       "Writes of the node's table.",
                                       {"outcome"},
                                       {{"succeeded"}, {"failed"}}})),
      look_duration_(registry.add_histogram(
          {"nccl_env_agent_look_duration_seconds", "Reading all devices and interfaces once.", {}, {{}}},
          {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3})) {
  registry.add_gauge({"nccl_env_build_info", "Always 1.", {"version"}, {{std::string(kVersion)}}},
                     [](std::size_t) { return 1.0; });
  registry.add_gauge({"nccl_env_agent_ports",
                      "HCA ports of the node by state.",
                      {"state"},
                      {{"Active"}, {"Armed"}, {"Init"}, {"Down"}, {"Unknown"}}},
                     [this](std::size_t i) { return static_cast<double>(ports_[i]); });
  registry.add_gauge(
      {"nccl_env_agent_problems", "What could not be read at the last look; the log says what.", {}, {{}}},
      [this](std::size_t) { return static_cast<double>(problems_); });
  registry.add_gauge({"nccl_env_agent_verbs",
                      "1 if libibverbs reads the HCAs, too; 0: sysfs alone, as without /dev/infiniband.",
                      {},
                      {{}}},
                     [this](std::size_t) { return verbs_ ? 1.0 : 0.0; });
  registry.add_gauge({"nccl_env_agent_last_publish_timestamp_seconds",
                      "When the table was last written; 0 before the first time.",
                      {},
                      {{}}},
                     [this](std::size_t) { return static_cast<double>(last_publish_); });
}

void AgentMetrics::count_event(AgentEvent source, int count) {
  events_.add(static_cast<std::size_t>(source), static_cast<std::uint64_t>(count));
}

void AgentMetrics::note_look(const NodeFabric& table, std::size_t problems, bool verbs,
                             std::chrono::steady_clock::duration took) {
  std::array<int, 5> counts{};
  for (const Port& port : table.ports)
    ++counts[port.state ? static_cast<std::size_t>(*port.state) : kUnknownState];
  for (std::size_t i = 0; i < counts.size(); ++i) ports_[i] = counts[i];
  problems_ = static_cast<int>(problems);
  verbs_ = verbs;
  look_duration_.observe(std::chrono::duration<double>(took).count());
}

void AgentMetrics::count_publish(bool succeeded, Timestamp now) {
  publishes_.add(succeeded ? 0 : 1);
  if (succeeded) last_publish_ = now.time_since_epoch().count();
}

Result<std::unique_ptr<AgentOps>> AgentOps::start(const std::string& listen, std::shared_ptr<Logger> log) {
  std::unique_ptr<AgentOps> ops(new AgentOps());
  net::ServerOptions options;
  options.listen = listen;
  options.log = std::move(log);
  options.threads = 1;
  options.max_connections = 64;  // kubelet and Prometheus
  options.max_body = 1024;       // nobody sends one
  auto server = net::Server::start(
      options, {[&self = *ops](const net::HttpRequest& request) { return self.answer(request); }, nullptr});
  if (!server) return server.error();
  ops->server_ = std::move(*server);
  return ops;
}

net::HttpResponse AgentOps::answer(const net::HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") return net::method_not_allowed("GET");
  if (request.path() == "/healthz") {
    const std::chrono::steady_clock::time_point beat{std::chrono::steady_clock::duration(last_beat_)};
    const bool turns = std::chrono::steady_clock::now() - beat < kLongestSilence;
    return turns ? plain(200, "ok\n") : plain(503, "the devices have been read for five minutes\n");
  }
  if (request.path() == "/readyz")
    return metrics_.published() ? plain(200, "ok\n") : plain(503, "the table has not been written yet\n");
  if (request.path() == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", registry_.render(), {}, false};
  return net::error_response(404, "GET /healthz, /readyz or /metrics");
}

}  // namespace nccl_env::app
