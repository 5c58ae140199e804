// SPDX-License-Identifier: Apache-2.0
// The server of probes and metrics, beside strangers.
#include "nccl_env/net/server/ops_server.h"

#include <gmock/gmock.h>

#include <list>
#include <mutex>

#include "net/server/fixture.h"

namespace nccl_env::net::ops_server_test {
namespace {

using ::testing::HasSubstr;

class OpsServer : public ServerTest {
 protected:
  std::string not_live, not_ready, still_to_come;

  void start_ops() {
    auto started =
        start_ops_server("127.0.0.1:0", nullptr,
                         {[this] { return not_live; }, [this] { return not_ready; },
                          [] { return std::string("a_metric 1\n"); }, [this] { return still_to_come; }});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  TestReply get(const std::string& target, int from = 1) const {
    TestClient client(server->port(), false, nullptr, from);
    client.send("GET " + target + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    return client.read_reply();
  }
};

TEST_F(OpsServer, TellsHealthReadinessAndMetrics) {
  start_ops();
  EXPECT_EQ(get("/healthz").body, "ok\n");
  EXPECT_EQ(get("/readyz?x").body, "ok\n");
  still_to_come = "tables are still being read";
  EXPECT_EQ(get("/readyz").body, "ok: tables are still being read\n");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/metrics").body, "a_metric 1\n");
  EXPECT_EQ(get("/nope").status, 404);
  not_live = "event loop 2 of 8 has been held up for 6 s";
  not_ready = "draining";
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(get("/healthz").body, not_live + "\n");
  EXPECT_EQ(get("/readyz").body, "draining\n");
  TestClient client(server->port());
  EXPECT_THAT(client.ask(post("/healthz", "")).header, HasSubstr("405"));
}

TEST_F(OpsServer, SilentConnectionsOfOneAddressDoNotFailAProbe) {
  start_ops();
  std::list<TestClient> silent;
  for (int i = 0; i < 200; ++i) {
    silent.emplace_back(server->port());
    if (i % 20 == 0) {
      EXPECT_EQ(get("/healthz").status, 200) << i;
    }
  }
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/healthz", 2).status, 200);
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpsServer, NorDoThoseOfManyAddresses) {
  start_ops();
  std::list<TestClient> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(server->port(), false, nullptr, 2 + i % 100);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get("/healthz").status, 200) << i;
  EXPECT_LE(server->stats().connections_open, 64u + 16u);
}

TEST_F(OpsServer, NobodyKeepsAConnectionAfterARequest) {
  start_ops();
  std::list<TestClient> asked;
  for (int i = 0; i < 200; ++i) {
    asked.emplace_back(server->port(), false, nullptr, 2 + i % 100);
    ASSERT_TRUE(asked.back().send("GET /metrics HTTP/1.1\r\nHost: t\r\n\r\n"));
    const TestReply reply = asked.back().read_reply();
    ASSERT_EQ(reply.status, 200);
    EXPECT_THAT(reply.header, HasSubstr("\r\nConnection: close"));
  }
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpsServer, AHandlerOfAnotherServerThatBlocksIsNotLive) {
  std::mutex gate;
  std::unique_lock closed(gate);
  options.threads = 1;
  start({[&](const HttpRequest& request) {
    const std::lock_guard passed(gate);
    return echo(request);
  }});
  const auto ops = start_ops_server("127.0.0.1:0", nullptr,
                                    {[&] { return server->held_up(std::chrono::seconds(2)); },
                                     [] { return std::string(); }, [] { return std::string(); }});
  ASSERT_TRUE(ops.ok()) << ops.error().message;
  const auto healthz = [&] {
    TestClient client((*ops)->port());
    client.send("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");
    return client.read_reply();
  };
  EXPECT_EQ(healthz().status, 200);
  TestClient blocked(server->port());
  ASSERT_TRUE(blocked.send(post("/echo", "x")));
  EXPECT_TRUE(eventually([&] { return healthz().status == 503; }));
  EXPECT_THAT(healthz().body, HasSubstr("event loop 1 of 1 on port " + std::to_string(server->port())));
  closed.unlock();
  EXPECT_EQ(blocked.read_reply().status, 200);
  EXPECT_TRUE(eventually([&] { return healthz().status == 200; }));
}

TEST(OpsServerOptions, DeadlinesAreShort) {
  const ServerOptions options = ops_server_options("127.0.0.1:0", nullptr);
  EXPECT_LE(options.header_timeout, std::chrono::seconds(2));
  EXPECT_LE(options.idle_timeout, std::chrono::seconds(10));
}

}  // namespace
}  // namespace nccl_env::net::ops_server_test
