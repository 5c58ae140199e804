// SPDX-License-Identifier: Apache-2.0
#include "ops.h"

#include <algorithm>

#include "nccl_env/base/process_metrics.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/net/server/ops_server.h"
#include "nccl_env/program/build_info.h"

namespace nccl_env::agent {
namespace {

constexpr std::size_t kUnknownState = 4;
// The loop that reads devices beats at least once a minute. The kernel may hold a read until an HCA's
// firmware is back; a new process would have to wait for the firmware as well.
constexpr std::chrono::minutes kLongestSilence{5};

}  // namespace

AgentMetrics::AgentMetrics(MetricRegistry& registry)
    : events_(registry.add_counter({"nccl_env_agent_events_total",
                                    "Events that made the agent look again.",
                                    {"source"},
                                    {{"link"}, {"device"}, {"verbs"}}})),
      publishes_(registry.add_counter({"nccl_env_agent_publishes_total",
                                       "Writes of the node's table.",
                                       {"outcome"},
                                       {{"succeeded"}, {"failed"}}})),
      losses_(registry.add_counter({"nccl_env_agent_tables_lost_total",
                                    "Times that the table was gone or changed by others.",
                                    {},
                                    {{}}})),
      look_duration_(registry.add_histogram(
          {"nccl_env_agent_look_duration_seconds", "Reading all devices and interfaces once.", {}, {{}}},
          {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3})) {
  add_process_metrics(registry);
  program::add_build_info(registry);
  registry.add_gauge({"nccl_env_agent_ports",
                      "HCA ports of the node by state.",
                      {"state"},
                      {{"Active"}, {"Armed"}, {"Init"}, {"Down"}, {"Unknown"}}},
                     [this](std::size_t i) { return static_cast<double>(ports_[i]); });
  const auto add_gauge = [&](const char* name, const char* help, const auto& value) {
    registry.add_gauge({name, help, {}, {{}}},
                       [&value](std::size_t) { return static_cast<double>(value.load()); });
  };
  add_gauge("nccl_env_agent_problems", "Values that could not be read at the last look; the log names them.",
            problems_);
  add_gauge("nccl_env_agent_gid_index_moved",
            "Addresses of HCA ports whose GID index moved within the last day.", moved_);
  add_gauge("nccl_env_agent_verbs",
            "1 if libibverbs reads the HCAs, too; 0: sysfs alone, as without /dev/infiniband.", verbs_);
  add_gauge("nccl_env_agent_table_present",
            "1 while the store holds the table that was written last, as far as is known.", present_);
  add_gauge("nccl_env_agent_last_publish_timestamp_seconds",
            "When the table was last written; 0, and so an age beyond all limits, before the first time.",
            last_publish_);
}

void AgentMetrics::count_event(AgentEvent source, int count) {
  events_.add(static_cast<std::size_t>(source), static_cast<std::uint64_t>(count));
}

void AgentMetrics::note_look(const NodeFabric& table, Timestamp now, std::size_t problems, bool verbs,
                             std::chrono::steady_clock::duration took) {
  std::array<int, 5> counts{};
  for (const Port& port : table.ports)
    ++counts[port.state ? static_cast<std::size_t>(*port.state) : kUnknownState];
  for (std::size_t i = 0; i < counts.size(); ++i) ports_[i] = counts[i];
  std::ptrdiff_t moved = 0;
  for (const Port& port : table.ports) {
    if (!port.gids) continue;
    moved += std::count_if(port.gids->begin(), port.gids->end(),
                           [&](const GidRow& row) { return is_unsettled(row, now); });
  }
  moved_ = static_cast<int>(moved);
  problems_ = static_cast<int>(problems);
  verbs_ = verbs;
  look_duration_.observe(std::chrono::duration<double>(took).count());
}

void AgentMetrics::count_publish(bool succeeded, Timestamp now) {
  publishes_.add(succeeded ? 0 : 1);
  if (!succeeded) return;
  last_publish_ = now.time_since_epoch().count();
  present_ = true;
}

void AgentMetrics::count_loss() {
  losses_.add();
  present_ = false;
}

Result<std::unique_ptr<AgentOps>> AgentOps::start(const std::string& listen, std::shared_ptr<Logger> log) {
  std::unique_ptr<AgentOps> ops(new AgentOps());
  ops->registry_.add_counter_reader(
      {"nccl_env_log_lines_dropped_total", "Log lines that nobody read in time.", {}, {{}}},
      [log](std::size_t) { return static_cast<double>(log->dropped()); });
  auto server = net::start_ops_server(
      listen, std::move(log),
      {[&self = *ops] { return self.not_live(); },
       [&self = *ops] {
         return std::string(self.metrics_.present() ? "" : "the table is not written yet, or lost");
       },
       [&self = *ops] { return self.registry_.render(); }});
  if (!server) return server.error();
  ops->server_ = std::move(*server);
  return ops;
}

std::string AgentOps::not_live() const {
  const std::chrono::steady_clock::time_point beat{std::chrono::steady_clock::duration(last_beat_)};
  const auto since = std::chrono::steady_clock::now() - beat;
  if (since < kLongestSilence) return {};
  return "the loop that reads the devices has been held up for " +
         std::to_string(std::chrono::floor<std::chrono::seconds>(since).count()) + " s";
}

}  // namespace nccl_env::agent
