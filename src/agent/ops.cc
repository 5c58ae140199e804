// SPDX-License-Identifier: Apache-2.0
#include "ops.h"

#include <algorithm>
#include <array>

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

AgentMetrics::AgentMetrics(MetricRegistry& registry, const Logger& log) : registry_(registry) {
  program::add_build_info(registry);
  add_process_metrics(registry, log);
}

void AgentMetrics::count_event(AgentEvent source, int count) {
  events_.add(static_cast<std::size_t>(source), static_cast<std::uint64_t>(count));
}

void AgentMetrics::note_look(const NodeFabric& table, Timestamp now, std::size_t problems, bool verbs,
                             std::chrono::steady_clock::duration took) {
  std::array<int, kUnknownState + 1> counts{};
  for (const Port& port : table.ports) {
    if (port.unavailable) continue;
    ++counts[port.state ? static_cast<std::size_t>(*port.state) : kUnknownState];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) ports_.set(counts[i], i);
  std::ptrdiff_t moved = 0;
  for (const Port& port : table.ports) {
    if (!port.gids) continue;
    moved += std::count_if(port.gids->begin(), port.gids->end(),
                           [&](const GidRow& row) { return is_unsettled(row, now); });
  }
  moved_.set(static_cast<double>(moved));
  problems_.set(static_cast<double>(problems));
  verbs_.set(verbs ? 1 : 0);
  look_duration_.observe(std::chrono::duration<double>(took).count());
}

void AgentMetrics::count_publish(bool succeeded, Timestamp now) {
  publishes_.add(succeeded ? 0 : 1);
  if (!succeeded) return;
  last_publish_.set(static_cast<double>(now.time_since_epoch().count()));
  present_.set(1);
}

void AgentMetrics::count_loss() {
  losses_.add();
  present_.set(0);
}

Result<std::unique_ptr<AgentOps>> AgentOps::start(const std::string& listen, std::shared_ptr<Logger> log) {
  std::unique_ptr<AgentOps> ops(new AgentOps(*log));
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
