// SPDX-License-Identifier: Apache-2.0
#include "exec/login.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kube/client_fixture.h"

namespace nccl_env::kube::login_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Timestamp kNow = parse_timestamp("2026-11-20T08:00:00Z").value();

// A plugin that is a script: its Nth run prints the file `answer.N`, or fails if there is none.
class ExecLogin : public KubeClient {
 protected:
  ExecLogin() {
    const auto path = write("plugin", R"(#!/bin/sh
cd "${0%/*}" || exit 9
echo "$KUBERNETES_EXEC_INFO" > info
runs=$(($(cat runs 2>/dev/null || echo 0) + 1))
echo $runs > runs
cat answer.$runs 2>/dev/null || exit 7
)");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    plugin.command = path.string();
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.interactive = ExecPlugin::Interactive::Never;
    plugin.install_hint = "See https://login.example";
  }

  ExecPlugin plugin;

  void answer(int run, const std::string& status) {
    write("answer." + std::to_string(run),
          R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status +
              "}");
  }
  static std::string token(const std::string& text, const std::string& expires = "") {
    return R"({"token":")" + text + "\"" +
           (expires.empty() ? "" : R"(,"expirationTimestamp":")" + expires + "\"") + "}";
  }
  std::string read(const std::string& name) {
    std::ifstream file(directory.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] ClientConfig with_plugin() const {
    ClientConfig made = server ? config() : ClientConfig();
    made.exec = plugin;
    return made;
  }
  std::unique_ptr<Login> login(std::chrono::milliseconds limit = 60s) {
    return std::make_unique<Login>(with_plugin(), Logger::to_stream(log, LogLevel::Info),
                                   std::make_shared<net::StopSignal>(), Login::Limits{limit, limit});
  }
  static std::string shown(const Result<Login::GrantedPtr>& granted) {
    return granted ? (*granted)->credential.token : granted.error().message;
  }
};

TEST_F(ExecLogin, ACredentialIsKeptUntilShortlyBeforeItsEnd) {
  answer(1, token("one", "2026-11-20T08:10:00Z"));
  answer(2, token("two"));
  const auto made = login();
  EXPECT_EQ(shown(made->at(kNow)), "one");
  EXPECT_EQ(shown(made->at(kNow + 10min - Login::kEarly - 1s)), "one");
  EXPECT_EQ(read("runs"), "1\n");
  EXPECT_EQ(shown(made->at(kNow + 10min - Login::kEarly)), "two");
  EXPECT_EQ(shown(made->at(kNow + 1000h)), "two");  // it has no end
  EXPECT_EQ(read("runs"), "2\n");
}

TEST_F(ExecLogin, AFailedRenewalLeavesTheOldOneForAsLongAsItIsValid) {
  answer(1, token("one", "2026-11-20T08:10:00Z"));
  const auto made = login();
  EXPECT_EQ(shown(made->at(kNow)), "one");
  const auto soon = kNow + 10min - 5s;
  EXPECT_EQ(shown(made->at(soon)), "one");
  EXPECT_THAT(log.str(), HasSubstr("exit code 7"));
  EXPECT_EQ(shown(made->at(soon + 1s)), "one");
  EXPECT_EQ(read("runs"), "2\n");  // not started each time
  EXPECT_EQ(shown(made->at(kNow + 10min)),
            "credential plugin " + plugin.command + ": exit code 7. See https://login.example");
  answer(3, token("three"));
  EXPECT_EQ(shown(made->at(soon + Login::kRetry)), "three");
  EXPECT_EQ(read("runs"), "3\n");
}

TEST_F(ExecLogin, ARefusedCredentialIsRenewedOnce) {
  answer(1, token("one"));
  answer(2, token("two"));
  const auto made = login();
  const auto first = made->at(kNow);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(shown(made->renewed((*first)->number, kNow)), "two");
  EXPECT_EQ(shown(made->renewed((*first)->number, kNow)), "two");  // another request's: renewed already
  EXPECT_EQ(read("runs"), "2\n");
}

TEST_F(ExecLogin, WhatItPrintsIsNotRepeated) {
  write("answer.1", "SECRET");
  EXPECT_THAT(shown(login()->at(kNow)),
              AllOf(HasSubstr("not one JSON object. See https://login.example"), Not(HasSubstr("SECRET"))));
  EXPECT_THAT(log.str(), Not(HasSubstr("SECRET")));
}

TEST_F(ExecLogin, AMissingOneIsNamedWithTheHint) {
  plugin.command = "nccl-env-has-no-such-plugin";
  EXPECT_EQ(shown(login()->at(kNow)),
            "credential plugin nccl-env-has-no-such-plugin: there is no such program in $PATH. See "
            "https://login.example");
}

TEST_F(ExecLogin, OneThatHangsIsKilled) {
  const auto path = write("hangs", "#!/bin/sh\nexec sleep 1000\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  plugin.command = path.string();
  EXPECT_THAT(shown(login(1s)->at(kNow)), HasSubstr("did not end within 1 s"));
}

TEST_F(ExecLogin, OneThatNeedsATerminalSaysSo) {
  const int terminal = ::dup(STDIN_FILENO);
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(none, STDIN_FILENO);
  plugin.interactive = ExecPlugin::Interactive::Always;
  EXPECT_THAT(shown(login()->at(kNow)), HasSubstr("interactiveMode is Always, and stdin is not a terminal"));
  EXPECT_EQ(read("runs"), "");
  plugin.interactive = ExecPlugin::Interactive::IfAvailable;
  answer(1, token("one"));
  EXPECT_EQ(shown(login()->at(kNow)), "one");
  EXPECT_THAT(read("info"), HasSubstr(R"("interactive":false)"));
  if (terminal >= 0) ::dup2(terminal, STDIN_FILENO);
  ::close(terminal);
  ::close(none);
}

TEST_F(ExecLogin, TheClientShowsItsTokenAndAsksAnewAfterA401) {
  answer(1, token("one"));
  answer(2, token("two"));
  std::vector<std::string> seen;
  serve([&](ScriptedConnection& connection, const ScriptedRequest& request) {
    seen.push_back(request.field("Authorization"));
    connection.reply(seen.back() == "Bearer two" ? 200 : 401, "{}");
  });
  plugin.cluster_info = true;
  plugin.server = "https://as-written";
  connect(with_plugin());
  EXPECT_EQ(read("runs"), "1\n");  // a plugin that fails fails at once
  EXPECT_THAT(read("info"), AllOf(HasSubstr("https://as-written"), HasSubstr("certificate-authority-data")));
  EXPECT_EQ(problem(get("/x")), "answered 200");
  EXPECT_EQ(problem(get("/x")), "answered 200");
  EXPECT_THAT(seen, ::testing::ElementsAre("Bearer one", "Bearer two", "Bearer two"));
}

TEST_F(ExecLogin, ASecond401IsTheAnswer) {
  answer(1, token("one"));
  answer(2, token("one"));
  std::atomic<int> requests{0};
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    ++requests;
    connection.reply(401, "{}");
  });
  connect(with_plugin());
  EXPECT_EQ(problem(get("/x")), "answered 401");
  EXPECT_EQ(requests, 2);
  EXPECT_THAT(problem(get("/x")), HasSubstr("exit code 7"));  // and why there is no other credential
}

TEST_F(ExecLogin, AClientWhosePluginFailsIsNotMade) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) { connection.reply(200, ""); });
  EXPECT_THAT(Client::make(with_plugin(), Logger::to_stream(log, LogLevel::Info)).error().message,
              AllOf(StartsWith("credential plugin /"), HasSubstr("exit code 7")));
  answer(2, R"({"clientCertificateData":"SECRET","clientKeyData":"SECRET"})");
  EXPECT_THAT(Client::make(with_plugin(), Logger::to_stream(log, LogLevel::Info)).error().message,
              AllOf(StartsWith("credential plugin /"), HasSubstr("certificate"), Not(HasSubstr("SECRET"))));
}

TEST_F(ExecLogin, ItsCertificateIsShownOnNewConnections) {
  std::string client_cas;
  for (const int run : {1, 2}) {
    const std::string made = directory.path() / "made";
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=run" +
        std::to_string(run) + " -keyout " + made + ".key -out " + made + ".crt 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    client_cas += read("made.crt");
    const nlohmann::json status{{"clientCertificateData", read("made.crt")},
                                {"clientKeyData", read("made.key")}};
    answer(run, status.dump());
  }
  std::atomic<int> requests{0};
  server = std::make_unique<ScriptedServer>(
      [&](ScriptedConnection& connection, const ScriptedRequest&) {
        connection.reply(++requests == 2 ? 401 : 200, std::to_string(connection.number()));
      },
      testing::test_certificate({"127.0.0.1"}), client_cas);
  connect(with_plugin());
  const auto first = get("/x");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->body, "1");
  const auto second = get("/x");
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->body, "2");
  EXPECT_EQ(read("runs"), "2\n");
}

}  // namespace
}  // namespace nccl_env::kube::login_test
