// SPDX-License-Identifier: Apache-2.0
// The webhook's start, its refusals to start, and its end.
#include "core/recorded.h"
#include "support/openssl_client.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_life_test {
namespace {

using namespace nccl_env::tests;

class WebhookLife : public WebhookTest {
 protected:
  struct Ended {
    int code;
    std::string errors;
    std::string output;
    // The last line of its log; every line has to be JSON.
    [[nodiscard]] Json last() const {
      Json entry;
      std::istringstream lines(errors);
      for (std::string line; std::getline(lines, line);) {
        entry = Json::parse(line, nullptr, false);
        EXPECT_TRUE(entry.is_object()) << line;
      }
      return entry;
    }
    [[nodiscard]] std::string problem() const {
      const Json entry = last();
      EXPECT_EQ(entry["level"], "error") << errors;
      EXPECT_EQ(entry["msg"], "could not start") << errors;
      return entry.value("problem", "");
    }
  };
  [[nodiscard]] Ended run(const std::vector<std::string>& arguments) const {
    const CommandResult result = run_command(arguments, "", path("run.err"));
    return {result.code, read_text(path("run.err")), result.output};
  }
  [[nodiscard]] net::TestClient connect() const {
    return net::TestClient(static_cast<std::uint16_t>(port_), true);
  }
  // One request on an open connection; whether its reply says that it is the last.
  static bool closes(net::TestClient& connection) {
    return connection.ask("GET /admit HTTP/1.1\r\nHost: x\r\n\r\n").closes();
  }
};

TEST_F(WebhookLife, SigtermTakesReadinessDownAndAnswersOnUntilConnectionsEnd) {
  start({"--drain-grace", "60s"});
  std::optional<net::TestClient> live(std::in_place, static_cast<std::uint16_t>(port_), true);
  ASSERT_FALSE(closes(*live));
  webhook_->signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return log("draining").size() == 1; }));
  EXPECT_EQ(ops("/readyz").status, 503);
  EXPECT_EQ(ops("/healthz").status, 200);
  const Reply fresh = post("/admit", pod_review().dump());
  EXPECT_EQ(fresh.status, 200);
  EXPECT_TRUE(fresh.closes()) << fresh.head;
  EXPECT_TRUE(closes(*live));
  live.reset();
  EXPECT_EQ(webhook_->wait(), 0);  // long before the grace is over
  ASSERT_THAT(log("stopped"), SizeIs(1));
  EXPECT_EQ(log("stopped")[0]["drained"], true);
  webhook_.reset();
}

TEST_F(WebhookLife, TheGraceEndsTheDrainWhoeverIsStillConnected) {
  start({"--drain-grace", "1s"});
  net::TestClient live = connect();
  EXPECT_FALSE(closes(live));
  webhook_->signal(SIGTERM);
  EXPECT_EQ(webhook_->wait(), 0);
  EXPECT_EQ(log("stopped").at(0)["drained"], false);
  webhook_.reset();
}

TEST_F(WebhookLife, ASecondSignalStopsAtOnce) {
  start({"--drain-grace", "1h"});
  net::TestClient live = connect();
  EXPECT_FALSE(closes(live));
  webhook_->signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return log("draining").size() == 1; }));
  webhook_->signal(SIGINT);
  EXPECT_EQ(webhook_->wait(), 0);
  EXPECT_EQ(log("stopped").at(0)["drained"], false);
  webhook_.reset();
}

TEST_F(WebhookLife, TheLastLineNamesTheOptionThatKeepsItFromStarting) {
  std::filesystem::remove(path("store"));
  const Ended no_store = run(command());
  EXPECT_EQ(no_store.code, 1);
  EXPECT_THAT(no_store.problem(), HasSubstr("--store: " + path("store") + ": No such file or directory"));
  std::filesystem::create_directory(path("store"));

  std::ofstream(path("bad.pem")) << "garbage";
  const Ended bad_certificate = run(command({"--tls-cert", path("bad.pem"), "--tls-key", path("bad.pem")}));
  EXPECT_EQ(bad_certificate.code, 1);
  EXPECT_THAT(bad_certificate.problem(), AllOf(StartsWith("--tls-cert, "), HasSubstr("bad.pem")));

  start();
  const std::string taken = "127.0.0.1:" + std::to_string(port_);
  for (const std::string option : {"--listen", "--ops-listen"}) {
    std::vector<std::string> arguments = command();
    *(std::find(arguments.begin(), arguments.end(), option) + 1) = taken;
    const Ended in_use = run(arguments);
    EXPECT_EQ(in_use.code, 1) << option;
    EXPECT_THAT(in_use.problem(), AllOf(StartsWith(option + ": "), HasSubstr(taken), HasSubstr("in use")));
  }
}

TEST_F(WebhookLife, ACheckEndsBeforeItListensAndTellsWhatKeepsItFromStarting) {
  start();
  std::vector<std::string> arguments = command({"--check"});
  *(std::find(arguments.begin(), arguments.end(), "--listen") + 1) = "127.0.0.1:" + std::to_string(port_);
  const Ended good = run(arguments);  // which the one that runs has
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.last()["msg"], "it can start");

  std::ofstream(path("bad.pem")) << "garbage";
  const Ended bad = run(command({"--check", "--client-ca", path("bad.pem")}));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.problem(), StartsWith("--client-ca: " + path("bad.pem") + ": no PEM certificate"));

  store("broken.yaml", "spec: [");
  const Ended refused = run(command({"--check"}));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.problem(), AllOf(StartsWith("--store: 1 of "), HasSubstr("refused")));
}

TEST_F(WebhookLife, UsageErrorsAreTwo) {
  const std::string store = "dir:" + path("store");
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--store", store},
      {"--store", path("store"), "--self-signed", path("pki")},
      {"--store", store, "--tls-cert", "a"},
      {"--store", store, "--tls-cert", "a", "--tls-key", "b", "--self-signed", "c"},
      {"--store", store, "--self-signed", path("pki"), "--drain-grace", "soon"},
      {"--store", store, "--self-signed", path("pki"), "--log-level", "loud"},
      {"--store", store, "--self-signed", path("pki"), "--resolver-image", "agent@sha256:12"},
      {"--store", store, "--self-signed", path("pki"), "--resolver-image", ""},
      {"--store", store, "--self-signed", path("pki"), "--resolver-image", "a:1", "--resolver-cpu", "much"},
      {"--store", store, "--self-signed", path("pki"), "--resolver-cpu", "1"},
      {"--store", store, "--self-signed", path("pki"), "--no-such-option"},
      {"--store", store, "--self-signed", path("pki"), "--listen", "127.0.0.1"},
      {"--store", store, "--self-signed", path("pki"), "--ops-listen", "localhost:8080"},
      {"--store", store, "--self-signed", path("pki"), "--managed-certificates", "a/b"},
      {"--store", store, "--tls-cert", "a", "--tls-key", "b", "--managed-certificates", "a/b"},
      {"--store", store, "--managed-certificates", "secret"},
      {"--store", store, "--managed-certificates", "/secret"},
      {"--store", store, "--managed-certificates", "a/b/c"},
      {"--store", store, "--managed-certificates", "a/B"},
      {"--store", store, "--managed-certificates", "a/b", "--certificate-lifetime", "9s"},
      {"--store", store, "--managed-certificates", "a/b", "--certificate-lifetime", "366d"},
      {"--store", store, "--managed-certificates", "a/b", "--certificate-lifetime", "9999999999d"},
      {"--store", store, "--managed-certificates", "a/b", "--webhook-configuration", "a/b"},
      {"--store", store, "--self-signed", path("pki"), "--certificate-lifetime", "90d"},
      {"--store", store, "--tls-cert", "a", "--tls-key", "b", "--tls-name", "x"},
      {"--store", store, "--self-signed", path("pki"), "--kubeconfig", "x"},
  };
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), program());
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << "it started";
    EXPECT_EQ(ended.last()["help"], "nccl-env-webhook --help");
  }
  EXPECT_THAT(run({program(), "--store", path("store"), "--self-signed", path("pki")}).problem(),
              HasSubstr("do you mean dir:" + path("store") + "?"));
}

TEST_F(WebhookLife, HelpAndVersionAreAnswers) {
  const Ended help = run({program(), "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("Example"), HasSubstr("curl --cacert"), HasSubstr("--drain-grace"),
                                 HasSubstr("Memory, at most"), HasSubstr("x 150 KiB)")));
  const Ended version = run({program(), "--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.output, StartsWith("nccl-env-webhook "));
}

}  // namespace
}  // namespace nccl_env::webhook_life_test
