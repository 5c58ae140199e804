// SPDX-License-Identifier: Apache-2.0
// Tests which connection goes when there is no place for one more, and how long each may stay silent.
#include "nccl_env/net/server/server.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "net/server/fixture.h"

namespace nccl_env::net::open_connections_test {
namespace {

using namespace std::chrono_literals;

class OpenConnectionsTest : public ServerTest {
 protected:
  OpenConnectionsTest() {
    options.threads = 2;
    options.max_connections = 16;
    options.max_per_peer = 100;
  }
  ~OpenConnectionsTest() override { open_gate(); }

  void start_gated() {
    auto started = Server::start(options, {[](const HttpRequest& request) -> std::optional<HttpResponse> {
                                             if (request.path() == "/wait") return std::nullopt;
                                             return echo(request);
                                           },
                                           check,
                                           [this](const HttpRequest&) {
                                             std::unique_lock lock(mutex_);
                                             ++waiting_;
                                             changed_.wait(lock, [this] { return open_; });
                                             return HttpResponse{200, "text/plain", "late", {}, false};
                                           },
                                           [](const HttpRequest&) {
                                             return HttpResponse{200, "text/plain", "overload", {}, false};
                                           }});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  void open_gate() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

  // A client that has been accepted, so that the next one is younger.
  TestClient& connect(int from = 1, int receive_buffer = 0) {
    const auto before = server->stats().connections_accepted + server->stats().connections_refused;
    clients_.emplace_back(server->port(), false, nullptr, from, receive_buffer);
    EXPECT_TRUE(eventually([&] {
      const ServerStats stats = server->stats();
      return stats.connections_accepted + stats.connections_refused > before;
    }));
    return clients_.back();
  }
  TestClient& connect_used(int from = 1) {
    TestClient& client = connect(from);
    EXPECT_TRUE(asks(client));
    return client;
  }
  // Whether it is answered; then it rests in the server's books, too, which comes after the reply.
  bool asks(TestClient& client) {
    const auto sent = server->stats().bytes_sent;
    return client.send(post("/echo", "x")) && client.read_reply().status == 200 &&
           eventually([&] { return server->stats().bytes_sent > sent; });
  }
  [[nodiscard]] std::uint64_t evicted(Eviction cause) const {
    return server->stats().connections_evicted[static_cast<std::size_t>(cause)];
  }
  static int count_ended(const std::vector<TestClient*>& clients) {
    return static_cast<int>(
        std::count_if(clients.begin(), clients.end(), [](auto* c) { return c->ended(); }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
  std::list<TestClient> clients_;
};

TEST_F(OpenConnectionsTest, ThoseThatNeverFinishedARequestGoFirstOldestFirst) {
  start();
  TestClient& idle = connect_used();
  TestClient& silent = connect();
  TestClient& begun = connect();
  ASSERT_TRUE(begun.send(
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nhalf"));
  for (int i = 3; i < options.max_connections; ++i) connect_used();
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(silent.at_end());
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(begun.at_end()) << "a request that was begun is not a finished one";
  EXPECT_EQ(evicted(Eviction::Unused), 2u);
  EXPECT_EQ(evicted(Eviction::Idle), 0u);
  EXPECT_TRUE(asks(idle));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, AFloodTakesNoPlaceFromAnAddressThatIsOfUse) {
  start();
  connect_used(1);
  TestClient& slow = connect(1);
  TestClient& slower = connect(1);
  for (int i = 0; i < 10 * options.max_connections; ++i) connect(2 + i % 3);
  EXPECT_TRUE(asks(slow));
  EXPECT_TRUE(asks(slower));
  EXPECT_GT(evicted(Eviction::Unused), 0u);
  EXPECT_EQ(evicted(Eviction::Idle), 0u);
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, AmongStrangersTheAddressWithMostOfThemGivesWay) {
  start();
  TestClient& probe = connect(1);
  for (int i = 0; i < 10 * options.max_connections; ++i) connect(2 + i % 5);
  EXPECT_TRUE(asks(probe));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, ThenThoseThatAreIdleLongest) {
  start();
  TestClient& first = connect_used();
  TestClient& second = connect_used();
  for (int i = 2; i < options.max_connections; ++i) connect_used();
  ASSERT_TRUE(asks(first));  // now the second is idle longest
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(second.at_end());
  EXPECT_TRUE(asks(first));
  EXPECT_EQ(evicted(Eviction::Idle), 1u);
}

TEST_F(OpenConnectionsTest, ARefusedRequestIsNotAFinishedOne) {
  start();
  TestClient& refused = connect();
  ASSERT_TRUE(refused.send("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n"));
  EXPECT_EQ(refused.read_reply().status, 404);
  for (int i = 1; i < options.max_connections; ++i) connect_used();
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(refused.at_end());
  EXPECT_EQ(evicted(Eviction::Unused), 1u);
}

TEST_F(OpenConnectionsTest, NeverOneInTheMiddleOfARequest) {
  options.max_connections = options.waiting_threads = 4;
  start_gated();
  std::vector<TestClient*> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(&connect());
    ASSERT_TRUE(busy.back()->send(post("/wait", "x")));
    ASSERT_TRUE(eventually([&] { return waiting() == i + 1; }));
  }
  EXPECT_TRUE(connect().at_end()) << "there is nobody to go";
  EXPECT_EQ(server->stats().connections_refused, 1u);
  open_gate();
  for (TestClient* client : busy) EXPECT_EQ(client->read_reply().body, "late");
  EXPECT_TRUE(eventually([&] { return asks(connect()); }));
}

TEST_F(OpenConnectionsTest, AUsedConnectionThatSendsItsNextRequestStays) {
  options.max_connections = 2;
  start();
  TestClient& sending = connect_used();
  TestClient& other = connect_used();
  const auto received = server->stats().bytes_received;
  ASSERT_TRUE(sending.send("POST /ec"));
  ASSERT_TRUE(eventually([&] { return server->stats().bytes_received > received; }));
  EXPECT_TRUE(asks(connect()));
  EXPECT_TRUE(other.at_end());
  ASSERT_TRUE(sending.send(post("/echo", "y").substr(8)));
  EXPECT_EQ(sending.read_reply().body, "y");
}

TEST_F(OpenConnectionsTest, OneAddressHasAShareAndLosesItsOwn) {
  options.max_per_peer = 0;  // a quarter: 4
  start();
  TestClient& good = connect_used(2);
  TestClient& quiet = connect(2);
  std::vector<TestClient*> flood;
  for (int i = 0; i < 40; ++i) flood.push_back(&connect(3));
  EXPECT_TRUE(eventually([&] { return count_ended(flood) == 36; }));
  EXPECT_EQ(evicted(Eviction::Share), 36u);
  EXPECT_EQ(evicted(Eviction::Unused), 0u);
  EXPECT_TRUE(asks(good));
  EXPECT_TRUE(asks(quiet));
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, AFloodOfSilentConnectionsFromManyAddressesLetsGoodOnesThrough) {
  options.max_per_peer = 0;
  start();
  TestClient& kept = connect_used();
  for (int i = 0; i < 100; ++i) {
    connect(2 + i % 50);
    if (i % 10 == 0) {
      EXPECT_TRUE(asks(connect(100))) << i;
      EXPECT_TRUE(asks(kept)) << i;
    }
  }
  EXPECT_EQ(server->stats().connections_refused, 0u);
}

TEST_F(OpenConnectionsTest, TheFirstRequestIsDueSoonOnlyWhereTheServerIsMoreThanHalfFull) {
  options.first_request_timeout = 100ms;
  start();
  std::vector<TestClient*> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(&connect());
  TestClient& used = connect_used();  // the ninth of sixteen
  ASSERT_TRUE(eventually([&] { return evicted(Eviction::Silent) > 0; }));
  EXPECT_TRUE(eventually([&] { return count_ended(silent) >= 1; }));
  EXPECT_TRUE(asks(used));
  // With eight left there is time again.
  ASSERT_TRUE(eventually([&] { return server->stats().connections_open <= 8; }));
  EXPECT_EQ(evicted(Eviction::Unused), 0u);
}

// Its replies stand in the kernel's buffers, so nothing is left to be written; but they are not taken.
TEST_F(OpenConnectionsTest, AReplyThatIsNeverReadEndsTheConnection) {
  options.write_timeout = 200ms;
  start();
  TestClient& client = connect(1, 4096);
  ASSERT_TRUE(client.send(post("/echo", std::string(50'000, 'x'))));
  EXPECT_TRUE(eventually([&] { return evicted(Eviction::Unread) + server->stats().deadline_closes == 1; }));
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
}

TEST_F(OpenConnectionsTest, AReplyThatIsReadLeavesTheConnectionIdle) {
  options.write_timeout = 50ms;
  options.idle_timeout = 500ms;
  start();
  TestClient& client = connect();
  ASSERT_TRUE(client.send(post("/echo", std::string(50'000, 'x'))));
  EXPECT_EQ(client.read_reply().body.size(), 50'000u);
  EXPECT_TRUE(client.at_end());  // at the end of its idle time
  EXPECT_EQ(evicted(Eviction::Unread), 0u);
}

// The kernel would take 4 MiB of it by itself.
TEST_F(OpenConnectionsTest, TheKernelHoldsLittleOfWhatIsNotRead) {
  options.write_timeout = 300ms;
  start();
  TestClient& client = connect(1, 4096);
  ASSERT_TRUE(client.send(post("/echo", std::string(1 << 20, 'x'))));
  EXPECT_TRUE(eventually([&] { return server->stats().deadline_closes == 1; })) << "the write ended";
  EXPECT_EQ(server->stats().bytes_sent, 0u);
}

TEST_F(OpenConnectionsTest, AnEventLoopThatIsHeldUpIsNamed) {
  std::mutex gate;
  std::unique_lock closed(gate);
  auto started = Server::start(options, {[&](const HttpRequest& request) {
                                 if (request.path() == "/block") const std::lock_guard passed(gate);
                                 return echo(request);
                               }});
  ASSERT_TRUE(started.ok());
  server = std::move(started).value();
  EXPECT_EQ(server->held_up(10s), "");
  TestClient& client = connect();
  ASSERT_TRUE(client.send(post("/block", "x")));
  ASSERT_TRUE(eventually([&] { return !server->held_up(2s).empty(); }));
  const std::string said = server->held_up(2s);
  EXPECT_THAT(said, ::testing::HasSubstr("event loop "));
  EXPECT_THAT(said, ::testing::HasSubstr(" of 2 on port " + std::to_string(server->port())));
  closed.unlock();
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_TRUE(eventually([&] { return server->held_up(2s).empty(); }));
}

}  // namespace
}  // namespace nccl_env::net::open_connections_test
