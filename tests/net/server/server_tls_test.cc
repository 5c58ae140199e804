// SPDX-License-Identifier: Apache-2.0
// The server against foreign TLS clients, and with certificates that change.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/system/error_code.hpp>
#include <cerrno>
#include <sstream>
#include <thread>
#include <vector>

#include "net/server/fixture.h"

namespace nccl_env::net::server_tls_test {
namespace {

using ::testing::HasSubstr;

TEST_F(TlsServerTest, CurlVerifiesTheCertificateAndKeepsTheConnection) {
  start_tls();
  const std::string as_json = trusting() + "-H 'Content-Type: application/json' ";
  const std::string url = "https://localhost:" + std::to_string(server->port()) + "/echo ";
  const auto result =
      curl("-v " + as_json + "-d one " + url + "--next -sS --noproxy '*' " + as_json + "-d two");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("ALPN: server accepted http/1.1"));
  EXPECT_THAT(result.output, HasSubstr("one"));
  EXPECT_THAT(result.output, HasSubstr("two"));
  EXPECT_EQ(server->stats().connections_accepted, 1u);
}

TEST_F(TlsServerTest, ToldByWhoeverDoesNotTrustItsCertificateAndByNobodyElse) {
  start_tls();
  server.reset();
  std::atomic<int> told{0};
  start({echo, check, nullptr, nullptr, nullptr, [&] { ++told; }});
  for (const char* version : {"--tls-max 1.2", "--tlsv1.3"}) EXPECT_NE(curl(version).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return told == 2; }));
  EXPECT_EQ(curl(trusting()).exit_code, 0);
  run_command("curl -sS --noproxy '*' http://localhost:" + std::to_string(server->port()));  // no TLS at all
  EXPECT_TRUE(eventually([&] { return server->stats().handshakes_failed == 3; }));
  EXPECT_EQ(told, 2);
}

TEST_F(TlsServerTest, CurlSendsLargeBodiesWithExpect) {
  start_tls();
  write_text(directory.path() / "exact", std::string(options.max_body, ' '));
  write_text(directory.path() / "over", std::string(options.max_body + 1, ' '));
  for (const auto& [name, status] : {std::pair{"exact", "200"}, std::pair{"over", "413"}}) {
    const auto result = curl("-o /dev/null -w '%{http_code}' " + trusting() +
                                 "-H 'Content-Type: application/json' --data-binary @" + file(name),
                             "/size");
    EXPECT_EQ(result.output, status);
  }
}

TEST_F(TlsServerTest, PythonKeepsAndChunks) {
  start_tls();
  write_text(directory.path() / "client.py", R"(
import http.client, ssl, sys
c = http.client.HTTPSConnection('127.0.0.1', int(sys.argv[1]), context=ssl.create_default_context(cafile=sys.argv[2]))
for body in (b'x', b'y' * 100000, iter([b'ab', b'cd'])):
    c.request('POST', '/echo', body, {'Content-Type': 'application/json'})
    r = c.getresponse()
    print(r.status, len(r.read()))
c.request('POST', '/echo', b'z' * (8 * 2**20 + 1), {'Content-Type': 'application/json'})
r = c.getresponse()
print(r.status, r.getheader('Connection'))
)");
  const auto result = run_command("python3 " + file("client.py") + " " + std::to_string(server->port()) +
                                  " " + file("ca.crt"));
  EXPECT_EQ(result.output, "200 1\n200 100000\n200 4\n413 close\n");
}

TEST_F(TlsServerTest, RefusesOldTlsAndClientsThatSpeakOnlyHttp2) {
  start_tls();
  EXPECT_THAT(s_client("-tls1_1 -cipher DEFAULT@SECLEVEL=0"), HasSubstr("alert protocol version"));
  EXPECT_THAT(s_client("-alpn h2"), HasSubstr("alert no application protocol"));
  EXPECT_THAT(s_client("-alpn h2,http/1.1"), HasSubstr("ALPN protocol: http/1.1"));
  EXPECT_THAT(s_client("-tls1_2"), HasSubstr("TLSv1.2"));
  EXPECT_THAT(s_client("-tls1_3"), HasSubstr("TLSv1.3"));
  EXPECT_TRUE(eventually([&] { return server->stats().handshakes_failed == 2; }));
}

TEST_F(TlsServerTest, AProbeThatOnlyConnectsIsNoFailedHandshake) {
  start_tls();
  { const TestClient probe(server->port()); }
  TestClient stranger(server->port());
  stranger.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(stranger.at_end());
  EXPECT_TRUE(eventually([&] { return server->stats().connections_accepted == 2; }));
  EXPECT_TRUE(eventually([&] { return server->stats().handshakes_failed == 1; }));
}

TEST_F(TlsServerTest, Tls12HasAuthenticatedEncryptionOrNone) {
  start_tls();
  for (const std::string old :
       {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA256"})
    EXPECT_THAT(s_client("-tls1_2 -cipher " + old), HasSubstr("alert handshake failure")) << old;
  for (const std::string good : {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"})
    EXPECT_THAT(s_client("-tls1_2 -cipher " + good), HasSubstr("Cipher is " + good));
}

// Those of TLS 1.2 hold the keys of the connection.
TEST_F(TlsServerTest, OnlyTls13GivesTickets) {
  start_tls();
  const std::string save = "-sess_out " + file("session"), resume = "-sess_in " + file("session");
  EXPECT_THAT(s_client(save + " -tls1_2"), ::testing::Not(HasSubstr("TLS session ticket:")));
  // The ticket comes with the reply.
  s_client(save + " -tls1_3 -ign_eof", "GET /size HTTP/1.1\\r\\nHost: t\\r\\nConnection: close\\r\\n\\r\\n");
  EXPECT_THAT(s_client(resume + " -tls1_3"), HasSubstr("Reused, TLSv1.3"));
}

TEST_F(TlsServerTest, SaysWhyAHandshakeFailed) {
  std::ostringstream lines;
  options.log = Logger::to_stream(lines, LogLevel::Info);
  start_tls();
  TestClient plain(server->port());
  ASSERT_TRUE(plain.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n"));
  EXPECT_TRUE(plain.at_end());
  server->stop();
  EXPECT_THAT(lines.str(), HasSubstr("\"error\":\"http request\""));
}

TEST_F(TlsServerTest, HandshakeHasADeadline) {
  options.handshake_timeout = std::chrono::milliseconds(50);
  start_tls();
  TestClient silent(server->port());
  EXPECT_TRUE(silent.at_end());
  EXPECT_EQ(server->stats().deadline_closes, 1u);
}

// The pieces of a message that is announced as longer than all of them.
TEST_F(TlsServerTest, AHandshakeThatNeverEndsIsEnded) {
  std::ostringstream lines;
  options.log = Logger::to_stream(lines, LogLevel::Info);
  start_tls();
  std::string records("\x16\x03\x01\x00\x04\x01\x01\xff\xff", 9);
  for (int i = 0; i < 2000; ++i) records.append("\x16\x03\x01\x00\x01\x03", 6);
  TestClient client(server->port());
  client.send(records);
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(eventually([&] { return server->stats().handshakes_failed == 1; }));
  server->stop();
  EXPECT_THAT(lines.str(), HasSubstr("\"error\":\"it never ends\""));
}

// OpenSSL would read records that bring nothing without an end, and all connections of the loop would wait.
TEST_F(TlsServerTest, AFloodOfRecordsWithoutDataIsEnded) {
  std::ostringstream lines;
  options.log = Logger::to_stream(lines, LogLevel::Info);
  start_tls();
  TestClient flood(server->port(), true);
  ASSERT_TRUE(flood.connected());
  int sent = 0;
  while (sent < 100'000 && flood.update_key()) ++sent;
  EXPECT_LT(sent, 100'000);
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
  server->stop();
  EXPECT_THAT(lines.str(), HasSubstr("TLS records without a request"));
}

TEST_F(TlsServerTest, RecordsWithoutDataAreCountedAnewAfterEachByte) {
  start_tls();
  TestClient client(server->port(), true);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.update_key());
    ASSERT_EQ(client.ask(post("/echo", "here")).body, "here");
  }
}

TEST_F(TlsServerTest, AnswersPipelinedRequestsOfOneRecord) {
  start_tls();
  TestClient client(server->port(), true);
  std::string all;
  for (int i = 0; i < 100; ++i) all += post("/echo", std::to_string(i));
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.read_reply().body, std::to_string(i));
}

TEST_F(TlsServerTest, AClientThatNeverReadsIsDroppedUnderTlsToo) {
  options.write_timeout = std::chrono::milliseconds(100);
  start_tls();
  TestClient client(server->port(), true);
  ASSERT_TRUE(client.send(post("/huge", "")));
  EXPECT_TRUE(eventually([&] { return server->stats().deadline_closes == 1; }));
  EXPECT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
}

TEST_F(TlsServerTest, SwapsCertificatesUnderLoadAndKeepsTheOldOneOnGarbage) {
  start_tls();
  std::atomic<bool> finished{false};
  std::atomic<int> failures{0}, replies{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!finished) {
        TestClient client(server->port(), true);
        for (int i = 0; i < 5; ++i) {
          const bool ok =
              client.connected() && client.send(post("/echo", "x")) && client.read_reply().body == "x";
          ++(ok ? replies : failures);
        }
      }
    });
  }
  TestClient old(server->port(), true);
  const std::string before = old.peer_fingerprint();
  EXPECT_EQ(before, source->current()->info().fingerprint);
  const auto now = std::chrono::system_clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto ca = make_ca("CA", now);
    const auto leaf = issue_server_certificate(*ca, {"localhost"}, now);
    write_text(directory.path() / "tls.crt", leaf->certificate);
    EXPECT_FALSE(source->reload().ok());  // the key of the one before
    write_text(directory.path() / "tls.key", "garbage");
    EXPECT_FALSE(source->reload().ok());
    const std::string kept = source->current()->info().fingerprint;
    EXPECT_EQ(TestClient(server->port(), true).peer_fingerprint(), kept);
    write_text(directory.path() / "tls.key", leaf->key);
    const auto swapped = source->reload();
    ASSERT_TRUE(swapped.ok()) << swapped.error().message;
    EXPECT_EQ(*swapped, TlsSource::Reload::Swapped);
    EXPECT_NE(source->current()->info().fingerprint, kept);
    EXPECT_EQ(TestClient(server->port(), true).peer_fingerprint(), source->current()->info().fingerprint);
  }
  ASSERT_TRUE(old.send(post("/echo", "old")));  // a connection outlives its certificate
  EXPECT_EQ(old.read_reply().body, "old");
  finished = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_GT(replies, 0);
}

TEST_F(TlsServerTest, ClientCaRefusesStrangersAndTakesItsOwn) {
  const auto now = std::chrono::system_clock::now();
  ASSERT_TRUE(make_self_signed(directory.path(), {"localhost"}, now).ok());
  auto loaded = TlsSource::load({file("tls.crt"), file("tls.key"), file("ca.crt")});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  options.tls = *loaded;
  start();
  const auto get = [&](const std::string& as) {
    return curl("-o /dev/null -w '%{http_code}' " + trusting() + as, "/size");
  };
  EXPECT_NE(get("").exit_code, 0);
  const std::string make_client_certificate =
      "cd " + directory.path().string() +
      " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout client.key -out "
      "client.crt"
      " -subj /CN=apiserver -days 1";
  ASSERT_EQ(run_command(make_client_certificate).exit_code, 0);
  const std::string identity = "--cert " + file("client.crt") + " --key " + file("client.key");
  EXPECT_NE(get(identity).exit_code, 0);
  auto trusting = TlsSource::load({file("tls.crt"), file("tls.key"), file("client.crt")});
  ASSERT_TRUE(trusting.ok()) << trusting.error().message;
  options.tls = *trusting;
  start();
  EXPECT_EQ(get(identity).output, "200");
}

TEST_F(TlsServerTest, AConnectionOfAWithdrawnClientCaEndsWithItsNextReply) {
  const auto now = std::chrono::system_clock::now();
  const auto ca = make_ca("CA", now);
  const auto leaf = issue_server_certificate(*ca, {"localhost"}, now);
  source = *TlsSource::make({leaf->certificate, leaf->key, ""});
  options.tls = source;
  start();
  TestClient old(server->port(), true);
  EXPECT_EQ(old.ask(post("/echo", "one")).body, "one");
  ASSERT_TRUE(source->swap({leaf->certificate, leaf->key, ca->certificate}).ok());
  EXPECT_EQ(old.ask(post("/echo", "two")).body, "two");
  EXPECT_TRUE(old.at_end());
}

TEST_F(TlsServerTest, GoesOnAfterRunningOutOfDescriptors) {
  start_tls();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  TestClient alive(server->port(), true);
  // A request and the error beforehand: UBSan opens a pipe when it first meets a class, and takes EMFILE for
  // a bad object.
  const boost::system::error_code none_left(EMFILE, boost::system::system_category());
  ASSERT_FALSE(none_left.message().empty());
  ASSERT_EQ(alive.ask(post("/echo", "x")).body, "x");
  std::vector<std::unique_ptr<TestClient>> clients;
  rlimit low = before;
  low.rlim_cur = 40;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const int spare = dup(0);
  ASSERT_GE(spare, 0);
  // Each client takes a descriptor here as well. When none is left, one more client gets the spare one, and
  // the server none for it.
  while (clients.size() < 60) clients.push_back(std::make_unique<TestClient>(server->port()));
  close(spare);
  clients.push_back(std::make_unique<TestClient>(server->port()));
  ASSERT_TRUE(eventually([&] { return server->stats().accept_errors > 0; }));
  EXPECT_TRUE(alive.send(post("/echo", "x")));
  EXPECT_EQ(alive.read_reply().body, "x");
  const auto errors = server->stats().accept_errors;
  clients.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  TestClient next(server->port(), true);
  EXPECT_TRUE(next.send(post("/echo", "x")));
  EXPECT_EQ(next.read_reply().body, "x");
  EXPECT_LT(server->stats().accept_errors - errors, 20u);  // it paused instead of spinning
}

}  // namespace
}  // namespace nccl_env::net::server_tls_test
