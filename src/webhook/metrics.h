// SPDX-License-Identifier: Apache-2.0
// The webhook's metrics: a closed set of series. The table of docs/reference/webhook.md is made of them.
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

// Places in `certificate_reloads`.
inline constexpr std::size_t kSwapped = 0, kRefused = 1;

// Counts reviews and reloads as they happen.
class WebhookMetrics {
  MetricRegistry& registry_;  // first: the rows below are made in it

 public:
  explicit WebhookMetrics(MetricRegistry& registry);

  void count(const DecisionRecord& record, std::chrono::nanoseconds duration);

  // Counted where they happen.
  CounterFamily& malformed_reviews =
      registry_.add_counter({"nccl_env_malformed_reviews_total", "Reviews that could not be read."});
  CounterFamily& policy_reads = registry_.add_counter(
      {"nccl_env_policy_reads_total",
       "Reviews of a namespace or policy that no watch had brought, by how its look-up "
       "ended. Left_out: too many waited, or were read lately; such a review is not logged.",
       {"outcome"},
       {{"found"}, {"absent"}, {"failed"}, {"left_out"}}});  // as PolicyRead
  CounterFamily& boot_checks =
      registry_.add_counter({"nccl_env_boot_checks_total",
                             "Answers from a table, by whether it is of the Node's boot. Unknown, so that "
                             "its age alone decided: it "
                             "has no bootId, or the Node could not be read.",
                             {"outcome"},
                             {{"same"}, {"other"}, {"unknown"}}});  // as store::BootCheck
  CounterFamily& dry_runs = registry_.add_counter(
      {"nccl_env_dry_runs_total",
       "Reviews of dry runs, as nccl-env check sends them; the rows of decisions, variables and durations "
       "leave them out.",
       {"resource"},
       {{"pod"}, {"binding"}}});
  CounterFamily& certificate_reloads =
      registry_.add_counter({"nccl_env_certificate_reloads_total",
                             "Certificates that changed, in files or in the Secret, by what became of them.",
                             {"outcome"},
                             {{"swapped"}, {"refused"}}});

 private:
  // Place of each combination of labels in its family, by the numbers of the labels' values; kNoSeries for a
  // combination that cannot occur.
  std::vector<std::size_t> decision_index_;
  std::vector<std::size_t> variable_index_;
  CounterFamily& decisions_;
  CounterFamily& variables_;
  HistogramFamily& durations_;

  CounterFamily& add_decisions();
  CounterFamily& add_variables();
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
