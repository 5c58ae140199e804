// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/server.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>
#include <vector>

#include "net/server/fixture.h"
#include "server/connection.h"

namespace nccl_env::net::server_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST_F(ServerTest, KeepsAConnectionForManyRequests) {
  start();
  TestClient client(server->port());
  for (int i = 0; i < 100; ++i) {
    const TestReply reply = client.ask(post("/echo?timeout=10s", "body " + std::to_string(i)));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "body " + std::to_string(i));
    EXPECT_FALSE(reply.closes());
  }
  EXPECT_EQ(server->stats().connections_accepted, 1u);
  EXPECT_EQ(server->stats().responses[2], 100u);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  TestClient client(server->port());
  std::string all;
  for (int i = 0; i < 500; ++i) all += post("/echo", std::to_string(i));
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < 500; ++i) ASSERT_EQ(client.read_reply().body, std::to_string(i));
  sender.join();
}

TEST_F(ServerTest, TakesARequestThatComesByteByByte) {
  start();
  TestClient client(server->port());
  const std::string sized = post("/echo", R"({"a":1})");
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n";
  for (const auto& [text, body] : {std::pair{sized, R"({"a":1})"}, std::pair{chunked, "abc0123456789"}}) {
    for (const char byte : text) ASSERT_TRUE(client.send({&byte, 1}));
    EXPECT_EQ(client.read_reply().body, body);
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_TRUE(client.send(std::string_view(text).substr(0, cut)));
      ASSERT_EQ(client.ask(std::string_view(text).substr(cut)).body, body) << cut;
    }
  }
}

TEST_F(ServerTest, TakesABodyOfExactlyTheLimitAndRefusesOneByteMore) {
  start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(post("/size", std::string(options.max_body, ' '))).body,
            std::to_string(options.max_body));
  ASSERT_TRUE(
      client.send(post("/size", std::string(options.max_body + 1, ' '))));  // the reply isn't reset away
  const TestReply reply = client.read_reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_THAT(reply.body, HasSubstr("{\"error\":"));
  EXPECT_TRUE(client.at_end());
}

TEST_F(ServerTest, RefusesAChunkedBodyOverTheLimit) {
  options.max_body = 1000;
  start();
  const std::string head =
      "POST /size HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  std::string by_ones = head;
  for (int i = 0; i < 1001; ++i) by_ones += "1\r\nx\r\n";
  for (const std::string& text : {head + "3e9\r\n", head + "ffffffffffffffff\r\n", by_ones}) {
    TestClient client(server->port());
    EXPECT_EQ(client.ask(text).status, 413);
    EXPECT_TRUE(client.at_end());
  }
  TestClient client(server->port());
  EXPECT_EQ(client.ask(head + "3e8\r\n" + std::string(1000, 'x') + "\r\n0\r\n\r\n").body, "1000");
}

TEST_F(ServerTest, RefusesAHeaderOverTheLimitAlsoFieldByField) {
  start();
  TestClient client(server->port()), slow(server->port());
  EXPECT_EQ(client.ask("GET / HTTP/1.1\r\nHost: t\r\nX: " + std::string(options.max_header, 'x')).status,
            431);
  EXPECT_TRUE(client.at_end());
  ASSERT_TRUE(slow.send("GET / HTTP/1.1\r\nHost: t\r\n"));
  const std::string field = "X-Field: " + std::string(1000, 'x') + "\r\n";
  for (int i = 0; i < 17; ++i) slow.send(field);
  EXPECT_EQ(slow.read_reply().status, 431);
}

// Shapes that one parser may read as another request than the next does.
TEST_F(ServerTest, RefusesSmugglingShapes) {
  start();
  const std::string post_line = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n";
  const std::string chunk = "5\r\nhello\r\n0\r\n\r\n";
  std::vector<std::pair<std::string, int>> cases = {
      {post_line + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {post_line + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunk, 400},
      {post_line + std::string("X: a\0b\r\n\r\n", 10), 400},
      {post_line + "Transfer-Encoding: identity\r\n\r\n", 501},
      {post_line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: \x0b" + "chunked\r\n\r\n" + chunk, 400},
      {"POST /echo HTTP/1.0\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}};
  for (const char* fields :
       {"Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: -1", "Content-Length: 0x5",
        "Content-Length: 5 5", "Content-Length:", "Content-Length: 18446744073709551621",
        "Content-Length : 5", " Content-Length: 5", "X: a\r\n b\r\nContent-Length: 5",
        "X: a\nContent-Length: 5", "X: a\rContent-Length: 5"})
    cases.emplace_back(post_line + fields + "\r\n\r\nhello!", 400);
  for (const char* coding : {"gzip, chunked", "chunked, identity", "xchunked"})
    cases.emplace_back(post_line + "Transfer-Encoding: " + coding + "\r\n\r\n" + chunk, 501);
  for (const char* bad : {"5\nhello", "5\r\nhelloX", "0x5\r\nhello", "-5\r\nhello", ";x\r\nhello",
                          "10000000000000005\r\nhello"})
    cases.emplace_back(post_line + "Transfer-Encoding: chunked\r\n\r\n" + bad + "\r\n0\r\n\r\n", 400);
  for (const char* get :
       {"GET / HTTP/1.1", "GET / HTTP/1.1\r\nHost: a\r\nHost: b", "GET http://other/ HTTP/1.1\r\nHost: t",
        "GET  / HTTP/1.1\r\nHost: t", "GET /", "\r\nGET / HTTP/1.1\r\nHost: t"})
    cases.emplace_back(get + std::string("\r\n\r\n"), 400);
  for (const auto& [text, status] : cases) {
    TestClient client(server->port());
    client.send(text);
    const TestReply reply = client.read_reply();
    EXPECT_EQ(reply.status, status) << text;
    EXPECT_TRUE(reply.closes()) << text;
    EXPECT_TRUE(client.at_end()) << text;
  }
}

TEST_F(ServerTest, AsksForTheBodyOnExpect) {
  start();
  TestClient client(server->port());
  const std::string text = post("/echo", "hello", "Expect: 100-continue\r\n");
  EXPECT_EQ(client.ask(text.substr(0, text.size() - 5)).status, 100);
  EXPECT_EQ(client.ask("hello").body, "hello");
  EXPECT_EQ(client.ask(post("/echo", "hello", "Expect: magic\r\n")).status, 417);
}

TEST_F(ServerTest, RefusesBeforeTheBodyIsRead) {
  start();
  for (const auto& [text, status] :
       {std::pair{"POST /nowhere HTTP/1.1\r\nHost: t\r\nContent-Length: 8000000\r\n\r\n", 404},
        std::pair{"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n"
                  "Expect: 100-continue\r\n\r\n",
                  415}}) {
    TestClient client(server->port());
    const TestReply reply = client.ask(text);
    EXPECT_EQ(reply.status, status);
    EXPECT_TRUE(reply.closes());
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(ServerTest, KeepsTheConnectionAfterRefusingARequestWithoutBody) {
  start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n").status, 404);
  EXPECT_EQ(client.ask(post("/echo", "x")).body, "x");
}

TEST_F(ServerTest, HandlerExceptionIsA500AndTheConnectionGoesOn) {
  start();
  TestClient client(server->port());
  const TestReply reply = client.ask(post("/throw", "x"));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "{\"error\":\"internal error\"}\n");
  EXPECT_EQ(client.ask(post("/echo", "x")).body, "x");
  EXPECT_EQ(server->stats().handler_exceptions, 1u);
}

TEST_F(ServerTest, ALoopThatIsHeldUpKeepsNoNewConnectionFromTheOthers) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  const auto hold = [&](const HttpRequest& request) {
    if (request.path() == "/hold") released.wait();
    return echo(request);
  };
  start({hold, check});
  TestClient held(server->port());  // of the first loop
  ASSERT_TRUE(held.send("GET /hold HTTP/1.1\r\nHost: t\r\n\r\n"));
  TestClient other(server->port());
  EXPECT_EQ(other.ask(post("/echo", "here")).body, "here");
  release.set_value();
  EXPECT_EQ(held.read_reply().status, 200);
}

TEST_F(ServerTest, Http10ClosesUnlessAskedToKeep) {
  start();
  TestClient closing(server->port());
  EXPECT_TRUE(closing.ask("GET /size HTTP/1.0\r\n\r\n").closes());
  EXPECT_TRUE(closing.at_end());
  TestClient keeping(server->port());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(keeping.ask("GET /size HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").header,
                HasSubstr("Connection: keep-alive"));
  }
}

TEST_F(ServerTest, ReplyToHeadHasNoBody) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("HEAD /size HTTP/1.1\r\nHost: t\r\n\r\n"));
  EXPECT_THAT(client.read_reply(true).header, HasSubstr("Content-Length: 1\r\n"));
  EXPECT_EQ(client.ask(post("/echo", "next")).body, "next");
}

TEST_F(ServerTest, AnswersAHalfClosedClient) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send(post("/echo", "a") + post("/echo", "b")));
  client.half_close();
  EXPECT_EQ(client.read_reply().body, "a");
  EXPECT_EQ(client.read_reply().body, "b");
  EXPECT_TRUE(client.at_end());
}

TEST_F(ServerTest, ClosesQuietlyIfARequestIsCutShort) {
  start();
  for (const char* text : {"", "POST / HT",
                           "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                           "Content-Length: 9\r\n\r\nhalf"}) {
    TestClient client(server->port());
    ASSERT_TRUE(client.send(text));
    client.half_close();
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(ServerTest, SlowHeaderAndSlowBodyEndAtTheirDeadline) {
  options.header_timeout = 50ms;
  options.body_timeout = 50ms;
  start();
  for (const char* begin : {"POST /ec",
                            "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                            "Content-Length: 100000\r\n\r\n"}) {
    TestClient client(server->port());
    ASSERT_TRUE(client.send(begin));
    // A drop at a time doesn't help; faster ones would reach the limits of size before that of time.
    while (client.send("x")) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(server->stats().deadline_closes, 2u);
}

TEST_F(ServerTest, IdleTimeIsCountedFromTheLastReply) {
  options.idle_timeout = 300ms;
  options.header_timeout = 50ms;
  start();
  std::optional<TestClient> client;
  std::chrono::steady_clock::time_point begin;
  // A thread that is held up in a send misses the header's deadline: then once more.
  ASSERT_TRUE(eventually([&] {
    client.emplace(server->port());
    begin = std::chrono::steady_clock::now();
    return client->send(post("/echo", "x")) && client->read_reply().status == 200;
  }));
  const auto before = server->stats().deadline_closes;
  EXPECT_TRUE(client->at_end());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
  EXPECT_EQ(server->stats().deadline_closes, before);
}

TEST_F(ServerTest, LargeBodiesShareABoundAndSmallOnesDoNotNeedIt) {
  options.max_large_bodies = 400 << 10;
  start();
  TestClient large(server->port());
  EXPECT_EQ(large.ask(post("/size", std::string(1 << 20, 'x'))).status, 503);
  // The room comes back once the refused connection has ended, which its client may see earlier.
  std::optional<TestClient> again;
  ASSERT_TRUE(eventually([&] {
    again.emplace(server->port());
    return again->send(post("/size", std::string(200 << 10, 'x'))) &&
           again->read_reply().body == std::to_string(200 << 10);
  }));
  EXPECT_EQ(again->ask(post("/size", std::string(64 << 10, 'x'))).status, 200);
}

TEST_F(ServerTest, DrainSaysCloseLeavesIdleOnesAndTakesNewOnes) {
  start();
  TestClient idle(server->port());
  EXPECT_FALSE(idle.ask(post("/echo", "x")).closes());
  server->begin_drain();
  EXPECT_FALSE(server->wait_drained(50ms));  // the idle one is left alone
  TestClient late(server->port());
  const TestReply reply = late.ask(post("/echo", "late"));
  EXPECT_EQ(reply.body, "late");
  EXPECT_TRUE(reply.closes());
  EXPECT_TRUE(late.at_end());
  EXPECT_TRUE(idle.ask(post("/echo", "still")).closes());
  EXPECT_TRUE(idle.at_end());
}

TEST_F(ServerTest, StopEndsTheWaitForADrain) {
  start();
  TestClient idle(server->port());
  EXPECT_EQ(idle.ask(post("/echo", "x")).status, 200);
  server->begin_drain();
  const auto begin = std::chrono::steady_clock::now();
  std::thread stopping([&] { server->stop(); });
  EXPECT_FALSE(server->wait_drained(60s, 30s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  stopping.join();
}

TEST_F(ServerTest, DrainEndsEarlyWhenTheLastConnectionIsGone) {
  start();
  auto client = std::make_unique<TestClient>(server->port());
  EXPECT_EQ(client->ask(post("/echo", "x")).status, 200);
  server->begin_drain();
  const auto begin = std::chrono::steady_clock::now();
  std::thread leaving([&] { client.reset(); });
  EXPECT_TRUE(server->wait_drained(15s, 100ms));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
  leaving.join();
}

TEST_F(ServerTest, StopEndsOpenConnectionsInEveryState) {
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (const char* text : {"", "POST /ec",
                           "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                           "Content-Length: 9\r\n\r\nhalf"}) {
    for (int i = 0; i < 5; ++i) {
      clients.push_back(std::make_unique<TestClient>(server->port()));
      ASSERT_TRUE(clients.back()->send(text));
    }
  }
  ASSERT_TRUE(eventually([&] { return server->stats().connections_open == 15; }));
  server->stop();
  EXPECT_EQ(server->stats().connections_open, 0u);
  for (const auto& client : clients) EXPECT_TRUE(client->at_end());
  server->stop();  // once more does nothing
}

TEST(ServerListen, AddressIsNumericWithAPort) {
  for (const char* bad : {"", "8443", "localhost:1", "127.0.0.1:", "127.0.0.1:70000", "::1:80",
                          "[127.0.0.1]:0", "[::1]", "127.0.0.1:1x"}) {
    ServerOptions options;
    options.listen = bad;
    const auto started = Server::start(options, {echo, {}});
    ASSERT_FALSE(started.ok()) << bad;
    EXPECT_THAT(started.error().message, HasSubstr(bad));
  }
  for (const char* good : {"127.0.0.1:0", ":0", "0.0.0.0:0"}) {
    ServerOptions options;
    options.listen = good;
    options.threads = 1;
    const auto started = Server::start(options, {echo, {}});
    ASSERT_TRUE(started.ok()) << started.error().message;
    TestClient client(started.value()->port());
    EXPECT_EQ(client.ask(post("/echo", "x")).body, "x");
  }
}

TEST(ServerListen, AnIpv4ClientOfASocketForBothFamiliesIsToldAsOne) {
  using boost::asio::ip::make_address;
  const auto seen = [](const char* address) { return unmapped({make_address(address), 7}); };
  EXPECT_EQ(seen("::ffff:10.0.0.1"), boost::asio::ip::tcp::endpoint(make_address("10.0.0.1"), 7));
  EXPECT_EQ(seen("10.0.0.1").address().to_string(), "10.0.0.1");
  EXPECT_EQ(seen("fd00::1").address().to_string(), "fd00::1");
}

TEST_F(ServerTest, PortInUseIsASentence) {
  start();
  ServerOptions second = options;
  second.listen = "127.0.0.1:" + std::to_string(server->port());
  const auto started = Server::start(second, {echo, {}});
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.error().message, HasSubstr("can't listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace nccl_env::net::server_test
