// SPDX-License-Identifier: Apache-2.0
// The page that lists the webhook's metrics, against a registry with every part that adds some.
#include "support/metrics_page.h"

#include "cluster.h"
#include "metrics.h"
#include "nccl_env/program/clock.h"

namespace nccl_env::webhook::metrics_page_test {
namespace {

// A store that watches a cluster, and is never asked for anything else.
class WatchingStore : public store::Store {
 public:
  [[nodiscard]] const store::Published<Snapshot>& snapshots() const override { return snapshots_; }
  [[nodiscard]] bool ready() const override { return false; }
  [[nodiscard]] store::StoreStats stats() const override {
    store::StoreStats stats;
    stats.watches.resize(1);
    return stats;
  }
  [[nodiscard]] Result<std::optional<std::string>> read_pod(std::string_view,
                                                            std::string_view) const override {
    return Error{"none"};
  }
  [[nodiscard]] store::Attempt<SharedRequests> read_claim(const ClaimRef&, bool) const override {
    return store::Postponed{};
  }

 private:
  store::Published<Snapshot> snapshots_{std::make_shared<const Snapshot>()};
};

TEST(MetricsPage, ListsWhatTheWebhookExports) {
  const auto log = Logger::to_stderr(LogLevel::Off);
  WebhookOptions options;
  options.kubernetes = true;
  options.certificates.name_space = "a";
  options.certificates.secret = "b";
  options.certificates.names = {"localhost"};
  kube::ClientConfig config;
  config.host = "localhost";
  auto client = kube::Client::make(config, log);
  ASSERT_TRUE(client.ok()) << client.error().message;
  const auto services =
      ClusterServices::make(options, std::shared_ptr<kube::Client>(*std::move(client)), log, [] {});
  ASSERT_TRUE(services.ok()) << services.error().message;
  const WatchingStore store;
  net::ServerOptions listen;
  listen.listen = "127.0.0.1:0";
  listen.threads = 1;
  const auto server =
      net::Server::start(listen, {[](const net::HttpRequest&) { return net::error_response(404, "none"); }});
  ASSERT_TRUE(server.ok()) << server.error().message;

  MetricRegistry registry;
  const WebhookMetrics counters(registry);
  services->add_metrics(registry);
  add_gauges(registry,
             {**server, store, *services->tls(), *log, [] { return false; }, program::clock_now, {}});
  tests::expect_metrics_in("docs/reference/webhook.md", registry.described());
}

}  // namespace
}  // namespace nccl_env::webhook::metrics_page_test
