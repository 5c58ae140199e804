// SPDX-License-Identifier: Apache-2.0
// The webhook's metrics: a closed set of series (docs/metrics.md).
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>

#include "admission.h"
#include "nccl_env/base/metrics.h"

namespace nccl_env::app {

class WebhookMetrics {
 public:
  explicit WebhookMetrics(MetricRegistry& registry);

  void count(const DecisionRecord& record, std::chrono::nanoseconds duration);
  void count_malformed() { malformed_.add(); }
  void count_reload(bool swapped) { reloads_.add(swapped ? 0 : 1); }

 private:
  using DecisionKey = std::tuple<std::string, std::string, std::string>;  // resource, outcome, reason
  using VariableKey = std::pair<std::string, std::string>;                // variable, reason; "" is set

  // Index of a label tuple in its family.
  std::map<DecisionKey, std::size_t> decision_index_;
  std::map<VariableKey, std::size_t> variable_index_;
  CounterFamily& decisions_;
  CounterFamily& variables_;
  HistogramFamily& durations_;
  CounterFamily& malformed_;
  CounterFamily& reloads_;

  CounterFamily& add_decisions(MetricRegistry& registry);
  CounterFamily& add_variables(MetricRegistry& registry);
};

}  // namespace nccl_env::app
