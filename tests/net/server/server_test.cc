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
    ASSERT_TRUE(client.send(post("/echo?timeout=10s", "body " + std::to_string(i))));
    const TestReply reply = client.read_reply();
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
      ASSERT_TRUE(client.send(std::string_view(text).substr(cut)));
      ASSERT_EQ(client.read_reply().body, body) << cut;
    }
  }
}

TEST_F(ServerTest, TakesABodyOfExactlyTheLimitAndRefusesOneByteMore) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send(post("/size", std::string(options.max_body, ' '))));
  EXPECT_EQ(client.read_reply().body, std::to_string(options.max_body));
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
    ASSERT_TRUE(client.send(text));
    EXPECT_EQ(client.read_reply().status, 413);
    EXPECT_TRUE(client.at_end());
  }
  TestClient client(server->port());
  ASSERT_TRUE(client.send(head + "3e8\r\n" + std::string(1000, 'x') + "\r\n0\r\n\r\n"));
  EXPECT_EQ(client.read_reply().body, "1000");
}

TEST_F(ServerTest, RefusesAHeaderOverTheLimit) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: t\r\nX: " + std::string(options.max_header, 'x')));
  EXPECT_EQ(client.read_reply().status, 431);
  EXPECT_TRUE(client.at_end());
}

TEST_F(ServerTest, HeaderLimitCountsFieldsThatComeOneByOne) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: t\r\n"));
  const std::string field = "X-Field: " + std::string(1000, 'x') + "\r\n";
  for (int i = 0; i < 17; ++i) client.send(field);
  EXPECT_EQ(client.read_reply().status, 431);
}

// Shapes that one parser may read as another request than the next does.
TEST_F(ServerTest, RefusesSmugglingShapes) {
  start();
  const std::string post_line = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n";
  const std::string chunk = "5\r\nhello\r\n0\r\n\r\n";
  const std::pair<std::string, int> cases[] = {
      {post_line + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {post_line + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunk, 400},
      {post_line + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400},
      {post_line + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
      {post_line + "Content-Length: 5, 5\r\n\r\nhello", 400},
      {post_line + "Content-Length: +5\r\n\r\nhello", 400},
      {post_line + "Content-Length: -1\r\n\r\nhello", 400},
      {post_line + "Content-Length: 0x5\r\n\r\nhello", 400},
      {post_line + "Content-Length: 5 5\r\n\r\nhello", 400},
      {post_line + "Content-Length:\r\n\r\nhello", 400},
      {post_line + "Content-Length: 18446744073709551621\r\n\r\nhello", 400},
      {post_line + "Content-Length : 5\r\n\r\nhello", 400},
      {post_line + " Content-Length: 5\r\n\r\nhello", 400},
      {post_line + "X: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", 400},
      {post_line + "X: a\nContent-Length: 5\r\n\r\nhello", 400},
      {post_line + "X: a\rContent-Length: 5\r\n\r\nhello", 400},
      {post_line + std::string("X: a\0b\r\n\r\n", 10), 400},
      {post_line + "Transfer-Encoding: identity\r\n\r\n", 501},
      {post_line + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk, 501},
      {post_line + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunk, 501},
      {post_line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {post_line + "Transfer-Encoding: xchunked\r\n\r\n" + chunk, 501},
      {post_line +
           "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n" +
           chunk,
       400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n;x\r\nhello\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n", 400},
      {post_line + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", 400},
      {"POST /echo HTTP/1.0\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET http://other/ HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"\r\nGET / HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
  };
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
  ASSERT_TRUE(client.send(text.substr(0, text.size() - 5)));
  EXPECT_EQ(client.read_reply().status, 100);
  ASSERT_TRUE(client.send("hello"));
  EXPECT_EQ(client.read_reply().body, "hello");
  ASSERT_TRUE(client.send(post("/echo", "hello", "Expect: magic\r\n")));
  EXPECT_EQ(client.read_reply().status, 417);
}

TEST_F(ServerTest, RefusesBeforeTheBodyIsRead) {
  start();
  for (const auto& [text, status] :
       {std::pair{"POST /nowhere HTTP/1.1\r\nHost: t\r\nContent-Length: 8000000\r\n\r\n", 404},
        std::pair{"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n"
                  "Expect: 100-continue\r\n\r\n",
                  415}}) {
    TestClient client(server->port());
    ASSERT_TRUE(client.send(text));
    const TestReply reply = client.read_reply();
    EXPECT_EQ(reply.status, status);
    EXPECT_TRUE(reply.closes());
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(ServerTest, KeepsTheConnectionAfterRefusingARequestWithoutBody) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n"));
  EXPECT_EQ(client.read_reply().status, 404);
  ASSERT_TRUE(client.send(post("/echo", "x")));
  EXPECT_EQ(client.read_reply().body, "x");
}

TEST_F(ServerTest, HandlerExceptionIsA500AndTheConnectionGoesOn) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send(post("/throw", "x")));
  const TestReply reply = client.read_reply();
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "{\"error\":\"internal error\"}\n");
  ASSERT_TRUE(client.send(post("/echo", "x")));
  EXPECT_EQ(client.read_reply().body, "x");
  EXPECT_EQ(server->stats().handler_exceptions, 1u);
}

TEST_F(ServerTest, ALoopThatIsHeldUpKeepsNoNewConnectionFromTheOthers) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  const auto hold = [&](const HttpRequest& request) {
    if (request.path() == "/hold") released.wait();
    return echo(request);
  };
  auto started = Server::start(options, {hold, check});
  ASSERT_TRUE(started.ok()) << started.error().message;
  server = std::move(started).value();
  TestClient held(server->port());  // of the first loop
  ASSERT_TRUE(held.send("GET /hold HTTP/1.1\r\nHost: t\r\n\r\n"));
  TestClient other(server->port());
  ASSERT_TRUE(other.send(post("/echo", "here")));
  EXPECT_EQ(other.read_reply().body, "here");
  release.set_value();
  EXPECT_EQ(held.read_reply().status, 200);
}

TEST_F(ServerTest, Http10ClosesUnlessAskedToKeep) {
  start();
  TestClient closing(server->port());
  ASSERT_TRUE(closing.send("GET /size HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(closing.read_reply().closes());
  EXPECT_TRUE(closing.at_end());
  TestClient keeping(server->port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(keeping.send("GET /size HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    EXPECT_THAT(keeping.read_reply().header, HasSubstr("Connection: keep-alive"));
  }
}

TEST_F(ServerTest, ReplyToHeadHasNoBody) {
  start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("HEAD /size HTTP/1.1\r\nHost: t\r\n\r\n"));
  EXPECT_THAT(client.read_reply(true).header, HasSubstr("Content-Length: 1\r\n"));
  ASSERT_TRUE(client.send(post("/echo", "next")));
  EXPECT_EQ(client.read_reply().body, "next");
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

TEST_F(ServerTest, AClientThatNeverReadsIsDropped) {
  options.write_timeout = 100ms;
  start();
  TestClient client(server->port());
  client.shrink_receive_buffer();
  ASSERT_TRUE(client.send(post("/huge", "")));
  EXPECT_TRUE(eventually([&] { return server->stats().deadline_closes == 1; }));
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
}

TEST_F(ServerTest, LargeBodiesShareABoundAndSmallOnesDoNotNeedIt) {
  options.max_large_bodies = 400 << 10;
  start();
  TestClient large(server->port());
  ASSERT_TRUE(large.send(post("/size", std::string(1 << 20, 'x'))));
  EXPECT_EQ(large.read_reply().status, 503);
  // The room comes back once the refused connection has ended, which its client may see earlier.
  std::optional<TestClient> again;
  ASSERT_TRUE(eventually([&] {
    again.emplace(server->port());
    return again->send(post("/size", std::string(200 << 10, 'x'))) &&
           again->read_reply().body == std::to_string(200 << 10);
  }));
  ASSERT_TRUE(again->send(post("/size", std::string(64 << 10, 'x'))));
  EXPECT_EQ(again->read_reply().status, 200);
}

TEST_F(ServerTest, DrainSaysCloseLeavesIdleOnesAndTakesNewOnes) {
  start();
  TestClient idle(server->port());
  ASSERT_TRUE(idle.send(post("/echo", "x")));
  EXPECT_FALSE(idle.read_reply().closes());
  server->begin_drain();
  EXPECT_FALSE(server->wait_drained(50ms));  // the idle one is left alone
  TestClient late(server->port());
  ASSERT_TRUE(late.send(post("/echo", "late")));
  const TestReply reply = late.read_reply();
  EXPECT_EQ(reply.body, "late");
  EXPECT_TRUE(reply.closes());
  EXPECT_TRUE(late.at_end());
  ASSERT_TRUE(idle.send(post("/echo", "still")));
  EXPECT_TRUE(idle.read_reply().closes());
  EXPECT_TRUE(idle.at_end());
}

TEST_F(ServerTest, StopEndsTheWaitForADrain) {
  start();
  TestClient idle(server->port());
  ASSERT_TRUE(idle.send(post("/echo", "x")));
  EXPECT_EQ(idle.read_reply().status, 200);
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
  ASSERT_TRUE(client->send(post("/echo", "x")));
  EXPECT_EQ(client->read_reply().status, 200);
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

TEST_F(ServerTest, StopWhileClientsComeAndSend) {
  start();
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stopped) {
        TestClient client(server->port());
        const bool answered =
            client.connected() && client.send(post("/echo", "x")) && client.read_reply().status == 200;
        EXPECT_TRUE(answered || client.ended()) << "left waiting";
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return server->stats().responses[2] > 50; }));
  server->stop();
  stopped = true;
  for (auto& thread : threads) thread.join();
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
    ASSERT_TRUE(client.send(post("/echo", "x")));
    EXPECT_EQ(client.read_reply().body, "x");
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
