// SPDX-License-Identifier: Apache-2.0
#include "ops.h"

namespace nccl_env::app {
namespace {

// Several times the longest look, and longer than the pause between two.
constexpr std::chrono::minutes kLongestSilence{5};

net::HttpResponse plain(int status, const char* text) {
  return {status, "text/plain", text, {}, false};
}

}  // namespace

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
