// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <regex>

#include "kube/client_fixture.h"
#include "support/golden.h"

namespace nccl_env::kube::client_test {
namespace {

using ::testing::HasSubstr;
using tests::expect_golden;

// The golden holds why a call failed, without the server's port.
void expect_problem(const std::string& title, const Result<Reply>& reply) {
  EXPECT_FALSE(reply) << title;
  static const std::regex port("(https://[^:/ ]+):\\d+");
  if (!reply) expect_golden(title, std::regex_replace(reply.error().message, port, "$1:PORT"));
}

TEST_F(KubeClient, SendsWhatItIsGivenAndReturnsAnyStatus) {
  ScriptedRequest seen;
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    seen = request;
    connection.reply(request.method == "GET" ? 404 : 201, "{\"a\":1}");
  });
  ClientConfig with = config();
  with.token.text = "secret";
  with.user_agent = "nccl-env-webhook/1";
  with.path_prefix = "/k8s";
  connect(with);
  auto reply = get("/api/v1/pods?limit=1");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->body, "{\"a\":1}");
  EXPECT_EQ(seen.target, "/k8s/api/v1/pods?limit=1");
  EXPECT_EQ(seen.field("Authorization"), "Bearer secret");
  EXPECT_EQ(seen.field("User-Agent"), "nccl-env-webhook/1");
  EXPECT_EQ(seen.field("Accept"), "application/json");
  EXPECT_EQ(seen.field("Host"), "127.0.0.1:" + std::to_string(server->port()));
  EXPECT_EQ(seen.field("Content-Length"), "");
  reply = client->call({"PATCH", "/api/v1/nodes/a", "application/apply-patch+yaml", "{}", 20s});
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.body, "{}");
  EXPECT_EQ(seen.field("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(KubeClient, RefusesWhatWouldSplitARequest) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) { connection.reply(200, ""); });
  connect();
  for (const char* target : {"", "/a b", "/a\r\nX: y", "/a\n", "/caf\u00e9"})
    expect_golden(nlohmann::json(target).dump(), problem(get(target)));
  ClientConfig with = config();
  with.token.text = "a\r\nX: y";
  expect_golden("a token of two lines",
                Client::make(with, Logger::to_stream(log, LogLevel::Info)).error().message);
}

TEST_F(KubeClient, ReadsChunkedBodies) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    connection.chunk("one ");
    for (const char c : std::string("4\r\ntwo.\r\n")) connection.write(std::string(1, c));
    connection.end_chunks();
  });
  connect();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(body(get("/x")), "one two.");
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(KubeClient, ANewConnectionWhereTheServerClosedTheKeptOne) {
  std::atomic<int> requests{0};
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    // The second request on the first connection is never answered: it closes instead.
    if (connection.number() == 1 && ++requests == 2) return connection.close();
    connection.reply(200, std::to_string(connection.number()));
  });
  connect();
  EXPECT_EQ(get("/x")->body, "1");
  EXPECT_EQ(body(get("/x")), "2");
}

TEST_F(KubeClient, AWriteThatMayHaveArrivedIsNotRepeated) {
  std::atomic<int> writes{0};
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    if (request.method == "GET") return static_cast<void>(connection.reply(200, ""));
    ++writes;
    connection.close();
  });
  connect();
  ASSERT_TRUE(get("/x").ok());
  expect_problem("POST", client->call({"POST", "/x", "application/json", "{}", 20s}));
  EXPECT_EQ(writes, 1);
}

TEST_F(KubeClient, AConnectionThatTheServerClosedWhileIdleIsNotUsed) {
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    connection.reply(200, request.method + std::to_string(connection.number()));
  });
  connect();
  EXPECT_EQ(get("/x")->body, "GET1");
  server->drop_connections();
  // A POST would not be repeated.
  EXPECT_EQ(body(client->call({"POST", "/x", "application/json", "{}", 20s})), "POST2");
}

TEST_F(KubeClient, TheDeadlineHoldsForTheWholeAnswer) {
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    if (request.target == "/silent") return connection.wait_closed();
    connection.begin_chunks();  // drips
    while (connection.chunk("x") && !server->stopping()) std::this_thread::sleep_for(5ms);
  });
  connect();
  const auto start = std::chrono::steady_clock::now();
  expect_problem("GET /silent", get("/silent", 1s));
  expect_problem("GET /drip", get("/drip", 500ms));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(KubeClient, AnAnswerIsBounded) {
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    const std::string block(1 << 20, 'x');
    while (connection.chunk(block) && !server->stopping()) {
    }
  });
  connect();
  expect_problem("GET /x", get("/x", 60s));
}

TEST_F(KubeClient, ATruncatedOrMalformedAnswerIsAnError) {
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    connection.close();
    if (request.target == "/short") connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    if (request.target == "/garbage") connection.write("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    if (request.target == "/h2") connection.write("HTTP/2 200\r\n\r\n");
  });
  connect();
  expect_problem("GET /short", get("/short"));
  expect_problem("GET /garbage", get("/garbage"));
  expect_problem("GET /h2", get("/h2"));
  expect_problem("GET /none", get("/none"));
}

TEST_F(KubeClient, ARefusedTokenIsReadAnewOnce) {
  std::atomic<int> requests{0};
  const auto file = write("token", "old\n");
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    ++requests;
    connection.reply(request.field("Authorization") == "Bearer new" ? 200 : 401, "{}");
  });
  ClientConfig with = config();
  with.token.file = file;
  connect(with);
  EXPECT_EQ(get("/x")->status, 401);
  EXPECT_EQ(requests, 1);  // the file still holds what was refused
  write("token", "new\n");
  EXPECT_EQ(get("/x")->status, 200);
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(get("/x")->status, 200);
  EXPECT_EQ(requests, 4);
}

TEST_F(KubeClient, TheServersCertificateMustNameTheHost) {
  server = std::make_unique<ScriptedServer>(
      [](ScriptedConnection& c, const ScriptedRequest&) { c.reply(200, ""); },
      tests::test_certificate({"kube.example", "10.1.2.3"}));
  connect();
  expect_problem("GET /x", get("/x"));
  ClientConfig with = config();
  for (const char* name : {"kube.example", "10.1.2.3"}) {
    with.tls_name = name;
    connect(with);
    EXPECT_EQ(problem(get("/x")), "answered 200") << name;
  }
  with.tls_name = "other.example";
  connect(with);
  expect_problem("GET /x", get("/x"));
}

TEST_F(KubeClient, AnotherCaIsRefusedUntilTheFileHoldsTheRightOne) {
  serve([](ScriptedConnection& c, const ScriptedRequest&) { c.reply(200, ""); });
  ClientConfig with = config();
  with.ca = {"", write("ca.crt", net::make_ca("another", std::chrono::system_clock::now())->certificate)};
  connect(with);
  expect_problem("GET /x", get("/x"));
  write("ca.crt", tests::test_ca().certificate);
  EXPECT_EQ(problem(get("/x")), "answered 200");
  write("ca.crt", "garbage");
  server->drop_connections();
  EXPECT_EQ(problem(get("/x")), "answered 200");  // the old one stays
  EXPECT_THAT(log.str(), HasSubstr("refused, the old ones stay"));
}

TEST_F(KubeClient, ShowsItsOwnCertificate) {
  const auto certificate = directory.path() / "c.crt", key = directory.path() / "c.key";
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=me "
      "-keyout " +
      key.string() + " -out " + certificate.string() + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::stringstream client_ca;
  client_ca << std::ifstream(certificate).rdbuf();
  server = std::make_unique<ScriptedServer>(
      [](ScriptedConnection& c, const ScriptedRequest&) { c.reply(200, ""); },
      tests::test_certificate({"127.0.0.1"}), client_ca.str());
  connect();
  EXPECT_FALSE(get("/x").ok());
  ClientConfig with = config();
  with.certificate.file = certificate;
  with.key.file = key;
  connect(with);
  EXPECT_EQ(problem(get("/x")), "answered 200");
  with.key = {tests::test_certificate({"x"}).key, {}};
  expect_golden(Client::make(with, Logger::to_stream(log, LogLevel::Info)).error().message);
}

TEST_F(KubeClient, NobodyListening) {
  serve([](ScriptedConnection&, const ScriptedRequest&) {});
  connect();
  server->stop();
  expect_problem("GET /x", get("/x"));
}

TEST_F(KubeClient, ANameIsResolved) {
  server = std::make_unique<ScriptedServer>(
      [](ScriptedConnection& c, const ScriptedRequest&) { c.reply(200, ""); },
      tests::test_certificate({"localhost"}));
  ClientConfig with = config();
  with.host = "localhost";
  connect(with);
  EXPECT_EQ(problem(get("/x")), "answered 200");
  with.host = "nowhere.invalid";
  connect(with);
  EXPECT_THAT(problem(get("/x")), HasSubstr("https://nowhere.invalid:"));
}

TEST_F(KubeClient, StopEndsWhatIsUnderWayAndRefusesTheRest) {
  std::atomic<bool> asked{false};
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    asked = true;
    connection.wait_closed();
  });
  connect();
  std::thread stopper([&] {
    while (!asked) std::this_thread::yield();
    client->stop();
  });
  expect_problem("GET /x", get("/x"));
  stopper.join();
  expect_problem("GET /x", get("/x"));
  EXPECT_TRUE(client->stopped());
  EXPECT_TRUE(client->stopped_within(20s));
}

TEST(StatusMessage, OfTheStatusObjectOrTheBareStatus) {
  EXPECT_EQ(status_message({403, R"({"kind":"Status","message":"pods is forbidden"})"}),
            "HTTP 403: pods is forbidden");
  EXPECT_EQ(status_message({502, "<html>"}), "HTTP 502");
  EXPECT_EQ(status_message({500, R"({"message":3})"}), "HTTP 500");
}

}  // namespace
}  // namespace nccl_env::kube::client_test
