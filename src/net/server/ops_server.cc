// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/ops_server.h"

#include <utility>

namespace nccl_env::net {
namespace {

HttpResponse probe_reply(const std::string& problem, const std::string& remark = "") {
  if (!problem.empty()) return {503, "text/plain", problem + "\n", {}, false};
  return {200, "text/plain", (remark.empty() ? "ok" : "ok: " + remark) + "\n", {}, false};
}

}  // namespace

HttpResponse answer_ops(const HttpRequest& request, const OpsSources& sources) {
  if (request.method != "GET" && request.method != "HEAD") return method_not_allowed("GET");
  if (request.path() == "/healthz") return probe_reply(sources.not_live());
  if (request.path() == "/readyz")
    return probe_reply(sources.not_ready(), sources.still_to_come ? sources.still_to_come() : "");
  if (request.path() == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", sources.metrics(), {}, false};
  return error_response(404, "GET /healthz, /readyz or /metrics");
}

ServerOptions ops_server_options(std::string listen, std::shared_ptr<Logger> log) {
  using std::chrono::seconds;
  ServerOptions options;
  options.listen = std::move(listen);
  options.log = std::move(log);
  options.threads = 1;
  options.max_connections = 64;  // a kubelet opens one for each probe, each Prometheus has one
  options.max_body = 1024;       // nobody sends a body
  options.header_timeout = options.body_timeout = seconds(2);  // half of a probe's time-out
  options.write_timeout = seconds(5);
  options.linger_timeout = seconds(1);
  options.idle_timeout = seconds(10);
  options.keep_alive = false;  // kept ones would take the places of probes; Prometheus connects anew
  return options;
}

Result<std::unique_ptr<Server>> start_ops_server(std::string listen, std::shared_ptr<Logger> log,
                                                 OpsSources sources) {
  return Server::start(
      ops_server_options(std::move(listen), std::move(log)),
      {[sources = std::move(sources)](const HttpRequest& request) { return answer_ops(request, sources); }});
}

}  // namespace nccl_env::net
