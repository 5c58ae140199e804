// SPDX-License-Identifier: Apache-2.0
// The page that lists the agent's metrics.
#include "support/metrics_page.h"
#include "ops.h"

namespace nccl_env::agent::metrics_page_test {
namespace {

TEST(MetricsPage, ListsWhatTheAgentExports) {
  const auto log = Logger::to_stderr(LogLevel::Off);
  MetricRegistry registry;
  const AgentMetrics metrics(registry, *log);
  tests::expect_metrics_in("docs/reference/agent.md", registry.described());
}

}  // namespace
}  // namespace nccl_env::agent::metrics_page_test
