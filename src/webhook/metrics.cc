// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <algorithm>

#include "nccl_env/base/process_metrics.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/program/build_info.h"

namespace nccl_env::webhook {
namespace {

constexpr std::string_view kConstant = "constant";

constexpr std::size_t kNoSeries = static_cast<std::size_t>(-1);
constexpr std::size_t kResources = 2;
constexpr std::size_t kOutcomes = 4;

std::size_t number_of(std::optional<Reason> reason) {
  return reason ? 1 + static_cast<std::size_t>(*reason) : 0;
}

// The node's variables, then nccl.conf and the file of EnvFile, then all constants of policies as one series.
std::size_t number_of(std::string_view variable) {
  const auto all = node_variables();
  const auto found = std::ranges::find(all, variable);
  const std::size_t other = variable == conf_file::kName ? 0 : variable == conf_file::kEnvName ? 1 : 2;
  return static_cast<std::size_t>(found - all.begin()) + (found == all.end() ? other : 0);
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
  return std::string(reason ? to_string(*reason) : "none");
}

// An answer takes under a microsecond of work, and 10-100 microseconds with everything around it.
std::vector<double> duration_bounds() {
  return {10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 5e-3, 25e-3, 100e-3, 1};
}

double unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double oldest_table(const Snapshot& snapshot) {
  std::optional<Timestamp> oldest;
  for (const auto& [name, table] : snapshot.tables) {
    if (const auto& time = table->dated()) oldest = std::min(oldest.value_or(*time), *time);
  }
  return oldest ? unix_seconds(*oldest) : kNoValue;
}

// Judges tables as a Binding at this moment would.
double stale_tables(const Snapshot& snapshot, const GaugeSources& sources) {
  const NodeContext context{sources.now(), sources.max_table_age, snapshot.in_sync};
  const auto stale = std::ranges::count_if(snapshot.tables, [&](const TableMap::value_type& entry) {
    return is_stale(entry.second->dated(), context);
  });
  return static_cast<double>(stale);
}

double object_count(const Snapshot& snapshot, std::size_t kind) {
  const std::size_t counts[] = {snapshot.policies.size(), snapshot.tables.size(), snapshot.opted_in.size()};
  return static_cast<double>(counts[kind]);
}

void add_server(MetricRegistry& registry, const net::Server& server) {
  using Stats = net::ServerStats;
  const auto counter = [&](const char* name, const char* help, std::uint64_t Stats::*field) {
    registry.add_counter_reader(
        {name, help}, [&server, field](std::size_t) { return static_cast<double>(server.stats().*field); });
  };
  registry.add_gauge({"nccl_env_connections_open", "Connections to the admission server that are open."},
                     [&server](std::size_t) { return static_cast<double>(server.stats().connections_open); });
  counter("nccl_env_connections_total", "Connections accepted.", &Stats::connections_accepted);
  counter("nccl_env_connections_refused_total",
          "Connections closed at once because no other one could give way.", &Stats::connections_refused);
  MetricDesc evicted{
      "nccl_env_connections_evicted_total",
      "Connections that the server ended. To let a new one in: unused (no request was ever finished), "
      "unfinished (a request was not whole, or its reply not taken), idle (the longest). Else: unread (a "
      "reply was not taken).",
      {"cause"},
      {}};
  for (std::size_t i = 0; i < net::kEvictions; ++i)
    evicted.series.push_back({std::string(to_string(static_cast<net::Eviction>(i)))});
  registry.add_counter_reader(std::move(evicted), [&server](std::size_t i) {
    return static_cast<double>(server.stats().connections_evicted[i]);
  });
  counter("nccl_env_tls_handshakes_failed_total", "TLS handshakes that failed.", &Stats::handshakes_failed);
  counter("nccl_env_deadline_closes_total", "Connections closed because a client took too long.",
          &Stats::deadline_closes);
  counter("nccl_env_accept_errors_total", "Failed accepts, mostly for want of file descriptors.",
          &Stats::accept_errors);
  registry.add_counter_reader({"nccl_env_responses_total",
                               "HTTP responses of the admission server.",
                               {"class"},
                               {{"2xx"}, {"4xx"}, {"5xx"}}},
                              [&server](std::size_t i) {
                                constexpr std::size_t kClass[] = {2, 4, 5};
                                return static_cast<double>(server.stats().responses[kClass[i]]);
                              });
}

void add_store(MetricRegistry& registry, const store::Store& store) {
  registry.add_gauge({"nccl_env_store_objects",
                      "What the store holds; Namespace: those with a policy label.",
                      {"kind"},
                      {{"NcclPolicy"}, {"NodeFabric"}, {"Namespace"}}},
                     [&store](std::size_t i) { return object_count(*store.snapshots().get(), i); });
  registry.add_gauge(
      {"nccl_env_store_files_refused", "Manifests in the store's directory that are not usable as they are."},
      [&store](std::size_t) { return static_cast<double>(store.stats().files_refused); });
  registry.add_gauge({"nccl_env_store_last_load_timestamp_seconds", "When the store last changed."},
                     [&store](std::size_t) { return static_cast<double>(store.stats().last_load_unix); });
  registry.add_gauge({"nccl_env_oldest_table_timestamp_seconds",
                      "Observation time of the oldest NodeFabric that has one; no series if none has."},
                     [&store](std::size_t) { return oldest_table(*store.snapshots().get()); });
  registry.add_gauge(
      {"nccl_env_tables_followed", "0 while no watch follows the tables: each Binding reads its own."},
      [&store](std::size_t) { return store.snapshots().get()->tables_followed ? 1.0 : 0.0; });
  registry.add_gauge({"nccl_env_store_in_sync",
                      "0 while ages of tables do not count: the store cannot follow its source, or could not "
                      "until five minutes ago."},
                     [&store](std::size_t) { return store.snapshots().get()->in_sync ? 1.0 : 0.0; });
}

// Series of a store that watches a cluster; a directory's has none of these.
void add_watches(MetricRegistry& registry, const store::Store& store) {
  using Stats = store::WatchStats;
  std::vector<std::vector<std::string>> kinds;
  for (const Stats& watch : store.stats().watches) kinds.push_back({watch.kind});
  if (kinds.empty()) return;
  const auto reader = [&store](auto field) {
    return [&store, field](std::size_t i) { return static_cast<double>(store.stats().watches[i].*field); };
  };
  registry.add_gauge({"nccl_env_watch_synced",
                      "1 once all objects were read. With --store kubernetes, as the next five.",
                      {"kind"},
                      kinds},
                     reader(&Stats::synced));
  registry.add_gauge(
      {"nccl_env_watch_in_contact", "1 while the API server answers as it should.", {"kind"}, kinds},
      reader(&Stats::in_contact));
  registry.add_gauge(
      {"nccl_env_watch_contact_age_seconds",
       "Time since the API server last sent something; on a quiet watch it does so about once a minute.",
       {"kind"},
       kinds},
      reader(&Stats::seconds_since_contact));
  registry.add_gauge({"nccl_env_watch_objects_refused",
                      "Objects whose newest form is not usable; the last good one counts.",
                      {"kind"},
                      kinds},
                     reader(&Stats::refused));
  registry.add_counter_reader(
      {"nccl_env_watch_relists_total", "Times that all objects were read again.", {"kind"}, kinds},
      reader(&Stats::relists));
  // In the order of TableRead.
  registry.add_counter_reader(
      {"nccl_env_table_reads_total",
       "Tables read one by one for a Binding, while tables load or their watch is away. Failed: the table as "
       "it was known counted, or the review was answered with 503.",
       {"outcome"},
       {{"found"}, {"absent"}, {"failed"}}},
      [&store](std::size_t i) { return static_cast<double>(store.stats().table_reads[i]); });
}

}  // namespace

WebhookMetrics::WebhookMetrics(MetricRegistry& registry)
    : registry_(registry),
      decisions_(add_decisions()),
      variables_(add_variables()),
      durations_(registry.add_histogram({"nccl_env_decision_duration_seconds",
                                         "Histogram: time from a review's bytes to the response's.",
                                         {"resource"},
                                         {{"pod"}, {"binding"}}},
                                        duration_bounds())) {}

CounterFamily& WebhookMetrics::add_decisions() {
  MetricDesc desc{"nccl_env_decisions_total",
                  "Reviews by what was decided: of a pod inject (nccl_env_variables_total says whether it "
                  "got anything) or "
                  "skip, of a Binding annotate, skip or deny; reason none where there is none.",
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
  add(kPod, Outcome::Inject, Reason::RuntimeUnknown);
  add(kPod, Outcome::Inject, Reason::EnvCopied);
  add(kPod, Outcome::Inject, Reason::ReferenceDropped);
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
  return registry_.add_counter(std::move(desc));
}

CounterFamily& WebhookMetrics::add_variables() {
  MetricDesc desc{
      "nccl_env_variables_total",
      "Variables set (reason none) or left out (TooFewPorts: or a list that lacks ports), by a pod's "
      "container or a Binding's text (host, subinterface). Constants of policies are constant.",
      {"variable", "reason"},
      {}};
  std::vector<std::string_view> names(node_variables().begin(), node_variables().end());
  names.insert(names.end(), {conf_file::kName, conf_file::kEnvName, kConstant});
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
  return registry_.add_counter(std::move(desc));
}

void WebhookMetrics::count(const DecisionRecord& record, std::chrono::nanoseconds duration) {
  const Review::Kind kind = record.subject.kind;
  if (kind == Review::Kind::Other) return;
  if (record.boot) boot_checks.add(static_cast<std::size_t>(*record.boot));
  if (record.policy_read) policy_reads.add(static_cast<std::size_t>(*record.policy_read));
  if (record.subject.dry_run) return dry_runs.add(is_binding(kind) ? 1 : 0);
  const auto count_series = [](CounterFamily& family, std::size_t series) {
    if (series != kNoSeries) family.add(series);
  };
  count_series(decisions_, decision_index_[decision_number(kind, record.outcome, record.reason)]);
  for (const LogName& variable : record.set)
    count_series(variables_, variable_index_[variable_number(variable.name, {})]);
  for (const auto& [variable, reason] : record.omitted)
    count_series(variables_, variable_index_[variable_number(variable.name, reason)]);
  durations_.observe(std::chrono::duration<double>(duration).count(), is_binding(kind) ? 1 : 0);
}

void add_gauges(MetricRegistry& registry, const GaugeSources& sources) {
  add_process_metrics(registry, sources.log);
  program::add_build_info(registry);
  registry.add_gauge({"nccl_env_ready",
                      "1 from the first read of policies and namespaces, with a certificate, until it "
                      "drains. All tables are loaded, too, once nccl_env_watch_synced of NodeFabric is 1."},
                     [ready = sources.ready](std::size_t) { return ready() ? 1.0 : 0.0; });
  registry.add_gauge(
      {"nccl_env_certificate_not_after_timestamp_seconds", "End of the serving certificate."},
      [&tls = sources.tls](std::size_t) { return unix_seconds(tls.current()->info().not_after); });
  add_server(registry, sources.server);
  add_store(registry, sources.store);
  add_watches(registry, sources.store);
  registry.add_gauge(
      {"nccl_env_tables_stale",
       "Tables older than --max-table-age at the moment of the scrape; 0 while ages do not count."},
      [sources](std::size_t) { return stale_tables(*sources.store.snapshots().get(), sources); });
}

}  // namespace nccl_env::webhook
