// SPDX-License-Identifier: Apache-2.0
// The admission server's HTTP requests: their paths and statuses, which of them are costly, and what is
// counted and logged of each review.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.h"
#include "metrics.h"
#include "nccl_env/base/log.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/store/store.h"
#include "nccl_env/webhook/admission.h"
#include "options.h"
#include "throttle.h"

namespace nccl_env::webhook {

inline constexpr std::string_view kStoreNotRead = "policies and namespaces have not been read yet";

// Answers POST /admit and POST /validate, on all threads of the server. It keeps nothing from one request to
// the next but the buffers that each thread has.
class Requests {
 public:
  // All of these outlive the server.
  Requests(const WebhookOptions& options, const store::Store& store, WebhookMetrics& metrics, Logger& log,
           const ClusterServices& services);

  // Handlers for a server of `threads` threads; not for `distrusted`. To be called once.
  net::ServerHandlers handlers(int threads);

 private:
  // Belongs to one thread, which answers with it.
  struct Desk {
    store::Published<Snapshot>::Reader snapshots;
    Admission admission;
  };

  [[nodiscard]] std::unique_ptr<Desk> make_desk() const;
  [[nodiscard]] std::optional<net::HttpResponse> check(const net::HttpHead& head) const;
  net::HttpResponse handle_later(const net::HttpRequest& request);
  net::HttpResponse handle_overload(const net::HttpRequest& request);
  [[nodiscard]] net::HttpResponse validate(const net::HttpRequest& request) const;
  net::Handled admit(const net::HttpRequest& request, PodLookup lookup);
  net::HttpResponse not_answered(const std::string& problem, std::chrono::steady_clock::time_point now);
  void tell(const DecisionRecord& record, std::chrono::steady_clock::time_point now,
            std::chrono::nanoseconds duration);

  const WebhookOptions& options_;
  const store::Store& store_;
  WebhookMetrics& metrics_;
  Logger& log_;
  const ClusterServices& services_;
  Throttle oversized_, not_opted_in_, malformed_, unanswered_;
  std::vector<std::unique_ptr<Desk>> desks_;  // by thread
};

}  // namespace nccl_env::webhook
