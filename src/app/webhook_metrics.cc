// SPDX-License-Identifier: Apache-2.0
#include "webhook_metrics.h"

#include <array>

#include "nccl_env/core/variables.h"

namespace nccl_env::app {
namespace {

// Everything else that a policy sets is a constant, and counts as one series.
constexpr std::array kNodeVariables{variable::kIbHca, variable::kIbGidIndex, variable::kIbAddrFamily,
                                    variable::kIbAddrRange, variable::kSocketIfname};
constexpr std::string_view kConstant = "constant";

std::string_view series_name(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // "CONTAINER/NAME"; npos + 1 is 0
  for (const std::string_view known : kNodeVariables) {
    if (name == known) return known;
  }
  return kConstant;
}

std::string_view resource_name(Review::Kind kind) {
  return kind == Review::Kind::Binding ? "binding" : "pod";
}

// Answers are under a microsecond of work and 10-100 of everything around it.
std::vector<double> duration_bounds() {
  return {10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 5e-3, 25e-3, 100e-3, 1};
}

}  // namespace

WebhookMetrics::WebhookMetrics(MetricRegistry& registry)
    : decisions_(add_decisions(registry)),
      variables_(add_variables(registry)),
      durations_(registry.add_histogram({"nccl_env_decision_duration_seconds",
                                         "Time from a review's bytes to the response's.",
                                         {"resource"},
                                         {{"pod"}, {"binding"}}},
                                        duration_bounds())),
      malformed_(registry.add_counter(
          {"nccl_env_malformed_reviews_total", "Reviews that could not be read.", {}, {{}}})),
      reloads_(registry.add_counter({"nccl_env_certificate_reloads_total",
                                     "Changed certificate files, by what became of them.",
                                     {"outcome"},
                                     {{"swapped"}, {"refused"}}})) {}

CounterFamily& WebhookMetrics::add_decisions(MetricRegistry& registry) {
  MetricDesc desc{"nccl_env_decisions_total",
                  "Admission reviews, by what was decided.",
                  {"resource", "outcome", "reason"},
                  {}};
  const auto add = [&](std::string_view resource, Outcome outcome, std::string_view reason) {
    decision_index_.emplace(DecisionKey{resource, to_string(outcome), reason}, desc.series.size());
    desc.series.push_back({std::string(resource), std::string(to_string(outcome)), std::string(reason)});
  };
  add("pod", Outcome::Inject, "");
  add("pod", Outcome::Skip, "");
  add("binding", Outcome::Annotate, "");
  add("binding", Outcome::Annotate, to_string(Reason::PodLookupFailed));
  add("binding", Outcome::Skip, "");
  for (const Reason reason : all_reasons()) {
    if (scope_of(reason) == ReasonScope::Pod) {
      add("pod", Outcome::Skip, to_string(reason));
      add("binding", Outcome::Skip, to_string(reason));
    }
    if (may_deny(reason)) add("binding", Outcome::Deny, to_string(reason));
  }
  return registry.add_counter(std::move(desc));
}

CounterFamily& WebhookMetrics::add_variables(MetricRegistry& registry) {
  MetricDesc desc{"nccl_env_variables_total",
                  "Variables of pods and Bindings: set (reason \"\"), or omitted with a reason.",
                  {"variable", "reason"},
                  {}};
  const auto add = [&](std::string_view name, std::string_view reason) {
    variable_index_.emplace(VariableKey{name, reason}, desc.series.size());
    desc.series.push_back({std::string(name), std::string(reason)});
  };
  std::vector<std::string_view> names(kNodeVariables.begin(), kNodeVariables.end());
  names.push_back(kConstant);
  for (const std::string_view name : names) {
    add(name, "");
    for (const Reason reason : all_reasons()) {
      if (scope_of(reason) != ReasonScope::Pod) add(name, to_string(reason));
    }
  }
  return registry.add_counter(std::move(desc));
}

void WebhookMetrics::count(const DecisionRecord& record, std::chrono::nanoseconds duration) {
  if (record.kind == Review::Kind::Other) return;
  const std::string_view reason = record.reason ? to_string(*record.reason) : std::string_view();
  const auto decision = decision_index_.find(
      {std::string(resource_name(record.kind)), std::string(to_string(record.outcome)), std::string(reason)});
  if (decision != decision_index_.end()) decisions_.add(decision->second);
  const auto count_variable = [&](std::string_view name, std::string_view why) {
    const auto found = variable_index_.find({std::string(series_name(name)), std::string(why)});
    if (found != variable_index_.end()) variables_.add(found->second);
  };
  for (const std::string& name : record.set) count_variable(name, "");
  for (const auto& [name, why] : record.omitted) count_variable(name, to_string(why));
  durations_.observe(std::chrono::duration<double>(duration).count(),
                     record.kind == Review::Kind::Binding ? 1 : 0);
}

}  // namespace nccl_env::app
