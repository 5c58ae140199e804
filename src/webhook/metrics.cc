// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/nccl/conf.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env::app {
namespace {

// Everything else that a policy sets is a constant, and counts as one series.
constexpr std::array kNodeVariables{variable::kIbHca,       variable::kIbGidIndex,   variable::kIbAddrFamily,
                                    variable::kIbAddrRange, variable::kSocketIfname, conf_file::kName};
constexpr std::string_view kConstant = "constant";

constexpr std::size_t kNoSeries = static_cast<std::size_t>(-1);
constexpr std::size_t kResources = 2;
constexpr std::size_t kOutcomes = 4;

std::size_t number_of(std::optional<Reason> reason) {
  return reason ? 1 + static_cast<std::size_t>(*reason) : 0;
}

std::size_t number_of(std::string_view variable) {
  return static_cast<std::size_t>(std::find(kNodeVariables.begin(), kNodeVariables.end(), variable) -
                                  kNodeVariables.begin());
}

std::size_t reason_count() {
  return 1 + all_reasons().size();
}

bool is_binding(Review::Kind kind) {
  return kind == Review::Kind::Binding;
}

std::size_t decision_number(Review::Kind kind, Outcome outcome, std::optional<Reason> reason) {
  const std::size_t resource = is_binding(kind) ? 1 : 0;
  return (resource * kOutcomes + static_cast<std::size_t>(outcome)) * reason_count() + number_of(reason);
}

std::size_t variable_number(std::string_view variable, std::optional<Reason> reason) {
  return number_of(variable) * reason_count() + number_of(reason);
}

std::string label(std::optional<Reason> reason) {
  return std::string(reason ? to_string(*reason) : std::string_view());
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
  decision_index_.assign(kResources * kOutcomes * reason_count(), kNoSeries);
  const auto add = [&](Review::Kind kind, Outcome outcome, std::optional<Reason> reason) {
    decision_index_[decision_number(kind, outcome, reason)] = desc.series.size();
    desc.series.push_back(
        {is_binding(kind) ? "binding" : "pod", std::string(to_string(outcome)), label(reason)});
  };
  constexpr auto kPod = Review::Kind::Pod, kBinding = Review::Kind::Binding;
  add(kPod, Outcome::Inject, {});
  add(kPod, Outcome::Skip, {});
  add(kBinding, Outcome::Annotate, {});
  add(kBinding, Outcome::Annotate, Reason::PodLookupFailed);
  add(kBinding, Outcome::Skip, {});
  for (const Reason reason : all_reasons()) {
    if (scope_of(reason) == ReasonScope::Pod) {
      add(kPod, Outcome::Skip, reason);
      add(kBinding, Outcome::Skip, reason);
    }
    if (may_deny(reason)) add(kBinding, Outcome::Deny, reason);
  }
  return registry.add_counter(std::move(desc));
}

CounterFamily& WebhookMetrics::add_variables(MetricRegistry& registry) {
  MetricDesc desc{"nccl_env_variables_total",
                  "Variables of pods and Bindings: set (reason \"\"), or omitted with a reason.",
                  {"variable", "reason"},
                  {}};
  std::vector<std::string_view> names(kNodeVariables.begin(), kNodeVariables.end());
  names.push_back(kConstant);
  variable_index_.assign(names.size() * reason_count(), kNoSeries);
  const auto add = [&](std::string_view name, std::optional<Reason> reason) {
    variable_index_[variable_number(name, reason)] = desc.series.size();
    desc.series.push_back({std::string(name), label(reason)});
  };
  for (const std::string_view name : names) {
    add(name, {});
    for (const Reason reason : all_reasons()) {
      if (scope_of(reason) != ReasonScope::Pod) add(name, reason);
    }
  }
  return registry.add_counter(std::move(desc));
}

void WebhookMetrics::count(const DecisionRecord& record, std::chrono::nanoseconds duration) {
  if (record.kind == Review::Kind::Other) return;
  const auto count_series = [](CounterFamily& family, std::size_t series) {
    if (series != kNoSeries) family.add(series);
  };
  count_series(decisions_, decision_index_[decision_number(record.kind, record.outcome, record.reason)]);
  for (const ScopedVariable& variable : record.set)
    count_series(variables_, variable_index_[variable_number(variable.name, {})]);
  for (const auto& [variable, reason] : record.omitted)
    count_series(variables_, variable_index_[variable_number(variable.name, reason)]);
  durations_.observe(std::chrono::duration<double>(duration).count(), is_binding(record.kind) ? 1 : 0);
}

}  // namespace nccl_env::app
