// SPDX-License-Identifier: Apache-2.0
#include "gauges.h"

#include <algorithm>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/program/version.h"

namespace nccl_env::app {
namespace {

double unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double oldest_table(const Snapshot& snapshot) {
  std::optional<Timestamp> oldest;
  for (const auto& [name, table] : snapshot.tables) {
    if (table->time) oldest = std::min(oldest.value_or(*table->time), *table->time);
  }
  return oldest ? unix_seconds(*oldest) : 0;
}

// As a Binding at this moment would take them.
double stale_tables(const Snapshot& snapshot, const GaugeSources& sources) {
  const NodeContext context{sources.now(), sources.max_table_age, snapshot.in_sync};
  const auto stale =
      std::count_if(snapshot.tables.begin(), snapshot.tables.end(),
                    [&](const TableMap::value_type& entry) { return is_stale(*entry.second, context); });
  return static_cast<double>(stale);
}

double object_count(const Snapshot& snapshot, std::size_t kind) {
  const std::size_t counts[] = {snapshot.policies.size(), snapshot.tables.size(), snapshot.opted_in.size()};
  return static_cast<double>(counts[kind]);
}

void add_server(MetricRegistry& registry, const net::Server& server) {
  using Stats = net::ServerStats;
  const auto counter = [&](const char* name, const char* help, std::uint64_t Stats::*field) {
    registry.add_counter_reader({name, help, {}, {{}}}, [&server, field](std::size_t) {
      return static_cast<double>(server.stats().*field);
    });
  };
  registry.add_gauge({"nccl_env_connections_open", "Connections to the admission server.", {}, {{}}},
                     [&server](std::size_t) { return static_cast<double>(server.stats().connections_open); });
  counter("nccl_env_connections_total", "Connections accepted.", &Stats::connections_accepted);
  counter("nccl_env_connections_refused_total", "Connections closed because there were too many.",
          &Stats::connections_refused);
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
                      "What the store holds.",
                      {"kind"},
                      {{"NcclPolicy"}, {"NodeFabric"}, {"Namespace"}}},
                     [&store](std::size_t i) { return object_count(*store.snapshots().get(), i); });
  registry.add_gauge({"nccl_env_store_files_refused",
                      "Manifests in the store's directory that are not usable as they are.",
                      {},
                      {{}}},
                     [&store](std::size_t) { return static_cast<double>(store.stats().files_refused); });
  registry.add_gauge({"nccl_env_store_last_load_timestamp_seconds", "When the store last changed.", {}, {{}}},
                     [&store](std::size_t) { return static_cast<double>(store.stats().last_load_unix); });
  registry.add_gauge({"nccl_env_oldest_table_timestamp_seconds",
                      "Observation time of the oldest NodeFabric that has one; 0 if none has.",
                      {},
                      {{}}},
                     [&store](std::size_t) { return oldest_table(*store.snapshots().get()); });
  registry.add_gauge({"nccl_env_store_in_sync",
                      "0 while the store cannot follow its source, and a while after: ages of tables do not "
                      "count.",
                      {},
                      {{}}},
                     [&store](std::size_t) { return store.snapshots().get()->in_sync ? 1.0 : 0.0; });
}

// Of a store that watches a cluster; a directory's has none of these.
void add_watches(MetricRegistry& registry, const store::Store& store) {
  using Stats = store::WatchStats;
  std::vector<std::vector<std::string>> kinds;
  for (const Stats& watch : store.stats().watches) kinds.push_back({watch.kind});
  if (kinds.empty()) return;
  const auto reader = [&store](auto field) {
    return [&store, field](std::size_t i) { return static_cast<double>(store.stats().watches[i].*field); };
  };
  registry.add_gauge({"nccl_env_watch_synced", "1 once all objects were read.", {"kind"}, kinds},
                     reader(&Stats::synced));
  registry.add_gauge(
      {"nccl_env_watch_in_contact", "1 while the API server answers as it should.", {"kind"}, kinds},
      reader(&Stats::in_contact));
  registry.add_gauge(
      {"nccl_env_watch_contact_age_seconds", "Since the API server was last heard of.", {"kind"}, kinds},
      reader(&Stats::seconds_since_contact));
  registry.add_gauge(
      {"nccl_env_watch_objects_refused", "Objects whose newest form is not usable.", {"kind"}, kinds},
      reader(&Stats::refused));
  registry.add_counter_reader(
      {"nccl_env_watch_relists_total", "Times that all objects were read again.", {"kind"}, kinds},
      reader(&Stats::relists));
}

}  // namespace

void add_gauges(MetricRegistry& registry, const GaugeSources& sources) {
  registry.add_gauge({"nccl_env_build_info", "Always 1.", {"version"}, {{std::string(kVersion)}}},
                     [](std::size_t) { return 1.0; });
  registry.add_gauge({"nccl_env_ready", "1 while the webhook wants traffic.", {}, {{}}},
                     [ready = sources.ready](std::size_t) { return ready() ? 1.0 : 0.0; });
  registry.add_gauge(
      {"nccl_env_certificate_not_after_timestamp_seconds", "End of the serving certificate.", {}, {{}}},
      [&tls = sources.tls](std::size_t) { return unix_seconds(tls.current()->info().not_after); });
  add_server(registry, sources.server);
  add_store(registry, sources.store);
  add_watches(registry, sources.store);
  registry.add_gauge(
      {"nccl_env_tables_stale", "Tables that are too old to count now; 0 while ages do not count.", {}, {{}}},
      [sources](std::size_t) { return stale_tables(*sources.store.snapshots().get(), sources); });
}

}  // namespace nccl_env::app
