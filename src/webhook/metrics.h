// SPDX-License-Identifier: Apache-2.0
// The webhook's metrics: a closed set of series (docs/operate/monitoring.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/store/store.h"
#include "nccl_env/webhook/admission.h"

namespace nccl_env::webhook {

// Counts reviews and reloads as they happen.
class WebhookMetrics {
 public:
  explicit WebhookMetrics(MetricRegistry& registry);

  void count(const DecisionRecord& record, std::chrono::nanoseconds duration);
  void count_malformed() { malformed_.add(); }
  void count_reload(bool swapped) { reloads_.add(swapped ? 0 : 1); }

 private:
  // Place of each combination of labels in its family, by the numbers of the labels' values; kNoSeries for a
  // combination that cannot occur.
  std::vector<std::size_t> decision_index_;
  std::vector<std::size_t> variable_index_;
  CounterFamily& decisions_;
  CounterFamily& variables_;
  HistogramFamily& durations_;
  CounterFamily& malformed_;
  CounterFamily& reloads_;

  CounterFamily& add_decisions(MetricRegistry& registry);
  CounterFamily& add_variables(MetricRegistry& registry);
};

// Sources of what is read when Prometheus asks: server, store, certificate, log. All must outlive the
// registry's last render.
struct GaugeSources {
  const net::Server& server;
  const store::Store& store;
  const net::TlsSource& tls;
  const Logger& log;
  std::function<bool()> ready;
  std::function<Timestamp()> now;
  std::chrono::seconds max_table_age;
};

void add_gauges(MetricRegistry& registry, const GaugeSources& sources);

}  // namespace nccl_env::webhook
