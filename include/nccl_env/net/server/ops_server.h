// SPDX-License-Identifier: Apache-2.0
// Server for health and metrics, in the webhook and in the agent: plain HTTP for kubelets and Prometheus.
// Anyone who reaches a node can connect, so deadlines are short, and a silent connection is closed for a new
// one: strangers cannot make a probe fail.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "nccl_env/base/log.h"
#include "nccl_env/net/server/http.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/result.h"

namespace nccl_env::net {

// An event loop that is held up this long by one piece of work counts as dead: the longest planned work takes
// 50 ms.
constexpr std::chrono::seconds kLongestHold{5};

// All are called on the server's thread, one at a time.
struct OpsSources {
  std::function<std::string()> not_live;   // why GET /healthz is 503, as a sentence; "": it is 200
  std::function<std::string()> not_ready;  // the same for GET /readyz
  std::function<std::string()> metrics;    // GET /metrics, in Prometheus' text format
  std::function<std::string()> still_to_come =
      nullptr;  // optional: the text that GET /readyz adds to "ok"; "": none
};

HttpResponse answer_ops(const HttpRequest& request, const OpsSources& sources);

// `log`: as in ServerOptions.
ServerOptions ops_server_options(std::string listen, std::shared_ptr<Logger> log);

Result<std::unique_ptr<Server>> start_ops_server(std::string listen, std::shared_ptr<Logger> log,
                                                 OpsSources sources);

}  // namespace nccl_env::net
