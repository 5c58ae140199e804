// SPDX-License-Identifier: Apache-2.0
// The page that lists the agent's metrics; those that the webhook has, too, stand with the webhook's.
#include "support/metrics_page.h"
#include "ops.h"

namespace nccl_env::agent::metrics_page_test {
namespace {

TEST(MetricsPage, ListsWhatTheAgentExports) {
  const auto log = Logger::to_stderr(LogLevel::Off);
  MetricRegistry registry;
  const AgentMetrics metrics(registry, *log);
  std::ifstream file(tests::in_source("/docs/reference/webhook.md"));
  const std::string shared{std::istreambuf_iterator<char>(file), {}};
  std::vector<MetricDesc> own = registry.described();
  std::erase_if(own, [&](const MetricDesc& metric) {
    return shared.find("\n| `" + metric.name + "` |") != shared.npos;
  });
  tests::expect_metrics_in("docs/reference/agent.md", own);
}

}  // namespace
}  // namespace nccl_env::agent::metrics_page_test
