// SPDX-License-Identifier: Apache-2.0
// Requests whose answers wait for others: "/wait" does until the test opens the gate.
#include <gmock/gmock.h>

#include <list>
#include <thread>
#include <vector>

#include "net/server/fixture.h"

namespace nccl_env::net::server_later_test {
namespace {

using namespace std::chrono_literals;

class ServerLaterTest : public ServerTest {
 protected:
  Gate gate;
  std::atomic<int> overloaded{0};

  ServerLaterTest() { options.threads = 1; }
  ~ServerLaterTest() override { gate.open(); }

  ServerHandlers handlers() {
    return {[](const HttpRequest& request) -> std::optional<HttpResponse> {
              if (request.path() == "/wait" || request.path() == "/throw-later") return std::nullopt;
              return echo(request);
            },
            check,
            [this](const HttpRequest& request) {
              if (request.path() == "/throw-later") throw std::runtime_error("a bug");
              gate.pass();
              HttpResponse response;
              response.body = std::to_string(request.thread) + " " + std::string(request.body);
              return response;
            },
            [this](const HttpRequest& request) {
              ++overloaded;
              HttpResponse response;
              response.body = "no room for " + std::string(request.body);
              return response;
            }};
  }

  void start_later() { start(handlers()); }
  // Sends a request and waits until its handler does.
  void send_waiting(TestClient& client, const std::string& body) {
    const int before = gate.came();
    ASSERT_TRUE(client.send(post("/wait", body)));
    ASSERT_TRUE(eventually([&] { return gate.came() > before; }));
  }
};

TEST_F(ServerLaterTest, OthersOfTheThreadAreAnsweredMeanwhile) {
  start_later();
  TestClient slow(server->port()), quick(server->port());
  send_waiting(slow, "one");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(quick.ask(post("/echo", std::to_string(i))).body, std::to_string(i));
  }
  gate.open();
  const TestReply reply = slow.read_reply();
  EXPECT_EQ(reply.body.substr(1), " one");
  EXPECT_GE(reply.body[0], '1') << "a thread after the server's";
  EXPECT_FALSE(reply.closes());
  EXPECT_EQ(slow.ask(post("/echo", "two")).body, "two");
}

TEST_F(ServerLaterTest, PipelinedRequestsStayInOrder) {
  start_later();
  TestClient client(server->port());
  std::thread opener([&] {
    eventually([&] { return gate.came() > 0; });
    gate.open();
  });
  EXPECT_EQ(
      client.ask(post("/echo", "a") + post("/wait", "b") + post("/echo", "c") + post("/wait", "d")).body,
      "a");
  EXPECT_EQ(client.read_reply().body.substr(1), " b");
  EXPECT_EQ(client.read_reply().body, "c");
  EXPECT_EQ(client.read_reply().body.substr(1), " d");
  opener.join();
}

TEST_F(ServerLaterTest, AClientMayLeaveMeanwhile) {
  start_later();
  {
    TestClient client(server->port());
    send_waiting(client, "never read");
  }
  TestClient other(server->port());
  EXPECT_EQ(other.ask(post("/echo", "still here")).body, "still here");
  EXPECT_EQ(server->stats().connections_open, 2u);
  gate.open();
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 1; }));
}

// The handler bounds its own waiting. The other client tells that deadlines went by.
TEST_F(ServerLaterTest, DeadlinesOfReadingAndWritingDoNotCount) {
  options.header_timeout = options.body_timeout = options.write_timeout = options.idle_timeout = 500ms;
  start_later();
  TestClient slow(server->port());
  send_waiting(slow, "one");
  for (int i = 0; i < 2; ++i) {
    TestClient idle(server->port());
    EXPECT_TRUE(idle.at_end());
  }
  gate.open();
  EXPECT_EQ(slow.read_reply().body.substr(1), " one");
  EXPECT_EQ(server->stats().deadline_closes, 0u);
}

TEST_F(ServerLaterTest, AFullQueueIsAnsweredAtOnce) {
  options.waiting_threads = 1;
  options.waiting_queue = 1;
  start_later();
  TestClient running(server->port());
  send_waiting(running, "one");
  TestClient second(server->port()), third(server->port());
  ASSERT_TRUE(second.send(post("/wait", "two")));
  ASSERT_TRUE(third.send(post("/wait", "three")));
  ASSERT_TRUE(eventually([&] { return overloaded == 1; }));
  gate.open();
  EXPECT_EQ(running.read_reply().body.substr(1), " one");
  const std::string two = second.read_reply().body, three = third.read_reply().body;
  EXPECT_TRUE((two == "1 two" && three == "no room for three") ||
              (two == "no room for two" && three == "1 three"))
      << two << ", " << three;
}

TEST_F(ServerLaterTest, CostlyRequestsAreAnsweredOneAtATimeAndLookUpsDoNotWaitBehindThem) {
  options.waiting_threads = 1;
  options.waiting_queue = 1;
  std::atomic<int> running{0}, most{0};
  ServerHandlers all = handlers();
  const auto look_up = all.handle_later;
  Gate costly;
  all.one_at_a_time = [](const HttpRequest& request) { return request.path() == "/costly"; };
  all.handle_later = [&](const HttpRequest& request) {
    if (request.path() != "/costly") return look_up(request);
    most = std::max<int>(most, ++running);
    costly.pass();
    --running;
    HttpResponse response;
    response.body = std::to_string(request.thread) + " " + std::string(request.body);
    return response;
  };
  start(all);

  TestClient first(server->port()), second(server->port()), third(server->port()), look(server->port());
  ASSERT_TRUE(first.send(post("/costly", "one")));
  ASSERT_TRUE(eventually([&] { return costly.came() == 1; }));
  ASSERT_TRUE(second.send(post("/costly", "two")));
  ASSERT_TRUE(third.send(post("/costly", "three")));
  ASSERT_TRUE(eventually([&] { return overloaded == 1; }));  // one runs, one waits, and one is too many
  gate.open();
  EXPECT_EQ(look.ask(post("/wait", "look-up")).body, "1 look-up");
  costly.open();
  EXPECT_EQ(first.read_reply().body, "2 one") << "on the thread behind those that look something up";
  second.read_reply();
  third.read_reply();
  EXPECT_EQ(most, 1);
  server->stop();
}

// "/comes" waits until the test says that it came, and says on its second turn whether it did.
class ServerPatienceTest : public ServerLaterTest {
 protected:
  std::atomic<bool> came{false};
  std::atomic<int> looks{0};

  void start_patient() {
    ServerHandlers all = handlers();
    all.handle = [this](const HttpRequest& request) -> Handled {
      if (request.path() != "/comes") return echo(request);
      if (request.awaited && !came) return std::nullopt;
      HttpResponse response;
      response.body = "came";
      if (request.awaited) return response;
      return {std::nullopt, [this] {
                ++looks;
                return came.load();
              }};
    };
    start(all);
  }
};

TEST_F(ServerPatienceTest, WhatComesByItselfIsAnsweredAtOnceThen) {
  start_patient();
  TestClient slow(server->port()), quick(server->port());
  ASSERT_TRUE(slow.send(post("/comes", "x")));
  ASSERT_TRUE(eventually([&] { return looks > 0; }));
  EXPECT_EQ(quick.ask(post("/echo", "meanwhile")).body, "meanwhile");
  came = true;
  EXPECT_EQ(slow.read_reply().body, gate.came() == 0 ? "came" : "1 x");
}

TEST_F(ServerPatienceTest, WhatDoesNotComeIsLookedUpOnAThreadThatMayWait) {
  gate.open();
  start_patient();
  TestClient client(server->port());
  const auto begin = std::chrono::steady_clock::now();
  const std::string body = client.ask(post("/comes", "x")).body;
  EXPECT_TRUE(body.ends_with(" x")) << body;
  EXPECT_NE(body, "0 x");  // of the event loop
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kPatience);
}

TEST_F(ServerPatienceTest, FewOfAnAddressWaitAndNotManyInAll) {
  gate.open();
  start_patient();
  const auto flood = [&](int addresses, int each) {
    std::list<TestClient> clients;
    for (int i = 0; i < addresses * each; ++i) {
      clients.emplace_back(server->port(), false, nullptr, 10 + i % addresses);
      clients.back().send(post("/comes", "x"));
    }
    for (TestClient& client : clients) EXPECT_EQ(client.read_reply().status, 200);
    return overloaded.exchange(0);
  };
  EXPECT_GE(flood(1, 20), 1) << "twelve, unless this machine let some pass before the others came";
  EXPECT_LE(flood(8, 8), 64 - 20) << "all wait; some may find the queue behind full";
  EXPECT_GE(flood(12, 8), 1);
}

TEST_F(ServerPatienceTest, AStopDoesNotWaitForWhatMayCome) {
  start_patient();
  TestClient client(server->port());
  ASSERT_TRUE(client.send(post("/comes", "x")));
  ASSERT_TRUE(eventually([&] { return looks > 0; }));
  server->stop();
  EXPECT_TRUE(client.ended());
}

TEST_F(ServerLaterTest, AnExceptionIsA500) {
  start_later();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(post("/throw-later", "{}")).status, 500);
  EXPECT_EQ(server->stats().handler_exceptions, 1u);
  EXPECT_EQ(client.ask(post("/echo", "on")).body, "on");
}

TEST_F(ServerLaterTest, ADrainWaitsForTheAnswer) {
  start_later();
  std::optional<TestClient> client(std::in_place, server->port());
  send_waiting(*client, "one");
  server->begin_drain();
  EXPECT_FALSE(server->wait_drained(10ms));
  gate.open();
  const TestReply reply = client->read_reply();
  EXPECT_EQ(reply.body.substr(1), " one");
  EXPECT_TRUE(reply.closes());
  EXPECT_TRUE(client->at_end());
  client.reset();
  EXPECT_TRUE(server->wait_drained(20s));
}

TEST_F(ServerLaterTest, StopWaitsForWhatRunsAndNotForTheQueue) {
  options.waiting_threads = 1;
  start_later();
  TestClient running(server->port());
  send_waiting(running, "one");
  TestClient first(server->port()), second(server->port());
  for (TestClient* client : {&first, &second}) ASSERT_TRUE(client->send(post("/wait", "queued")));
  ASSERT_TRUE(eventually([&] { return server->stats().connections_open == 3; }));
  std::thread stopper([&] { server->stop(); });
  gate.open();
  stopper.join();
  EXPECT_LE(gate.came(), 3);
  EXPECT_EQ(server->stats().connections_open, 0u);
  EXPECT_TRUE(running.at_end() || running.read_reply().status == 0);
}

// Connections come and go, wait and don't, while the server stops.
TEST_F(ServerLaterTest, StopsUnderLoad) {
  gate.open();
  options.threads = 2;
  options.waiting_threads = 2;
  options.waiting_queue = 2;
  start_later();
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      for (;;) {
        TestClient client(server->port());
        const bool sent = client.connected() && client.send(post(i % 2 == 0 ? "/wait" : "/echo", "x"));
        if (!sent || client.read_reply().status != 200) {
          EXPECT_TRUE(client.ended()) << "left waiting";
          return;
        }
        ++answered;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answered > 100; }));
  server->stop();
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace nccl_env::net::server_later_test
