// SPDX-License-Identifier: Apache-2.0
#include "cluster/kubectl.h"

#include "cli/asked_cluster.h"
#include "cluster/connection.h"

namespace nccl_env::cli::kubectl_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AnyOf;
using ::testing::MatchesRegex;

TEST(KubectlComplaint, WarningsLogLinesAndErrorAreNotTheSentence) {
  EXPECT_EQ(sentence_of("Warning: be careful\n"
                        "E1122 10:00:00.000000   4711 memcache.go:265] \"Unhandled Error\" err=\"x\"\n"
                        "error: exec: executable aws not found\n\nIt looks like you are trying to log in.\n"),
            "exec: executable aws not found It looks like you are trying to log in.");
  EXPECT_EQ(sentence_of(""), "");
  EXPECT_EQ(sentence_of(std::string(5000, 'x')).size(), 1024u);
}

TEST(KubectlComplaint, RefusalsOfTheServerHaveTheirStatus) {
  const auto told = [](const std::string& sentence) {
    const auto reply = refusal_of(sentence);
    return reply ? kube::status_message(*reply) : "none";
  };
  EXPECT_EQ(told("Error from server (NotFound): pods \"a\" not found"), "HTTP 404: pods \"a\" not found");
  EXPECT_EQ(told("Error from server (Forbidden): pods is forbidden: User \"u\""),
            "HTTP 403: pods is forbidden: User \"u\"");
  EXPECT_EQ(told("Error from server: admission webhook \"x\" denied the request: no"),
            "HTTP 400: admission webhook \"x\" denied the request: no");
  EXPECT_EQ(told("Error from server (InternalError): Internal error occurred: failed calling webhook"),
            "HTTP 500: Internal error occurred: failed calling webhook");
  EXPECT_EQ(told("The Pod \"a\" is invalid: * spec.x: wrong"),
            "HTTP 422: The Pod \"a\" is invalid: * spec.x: wrong");
  for (const char* other : {"", "You must be logged in to the server (Unauthorized)", "Error from server",
                            "Error from server (Teapot): x", "context \"x\" does not exist",
                            "Unable to connect to the server: dial tcp: lookup nowhere: no such host"})
    EXPECT_EQ(told(other), "none") << other;
}

class AskedByKubectl : public tests::AskedCluster {
 protected:
  Kubectl kubectl(const std::string& context = "") {
    tests::use_fake_kubectl();
    return {find_program("kubectl"), path("config"), context};
  }
  static std::string told(const Result<kube::Reply>& reply) {
    return reply ? std::to_string(reply->status) + " " + reply->body : reply.error().message;
  }
};

TEST_F(AskedByKubectl, AnswersAndRefusalsComeBack) {
  serve_text("/api/v1/pods?limit=1&fieldSelector=a%3Db", std::string(3u << 20, 'x'));
  serve_none("/none");
  Kubectl asked = kubectl();
  EXPECT_EQ(told(asked.call({"GET", "/api/v1/pods?limit=1&fieldSelector=a%3Db", "", ""})).size(),
            4 + (3u << 20));
  EXPECT_EQ(kube::status_message(asked.call({"GET", "/none", "", ""}).value()), "HTTP 404: not found");
  EXPECT_EQ(kube::status_message(asked.call({"GET", "/forbidden", "", ""}).value()),
            "HTTP 403: u is not allowed");
  serve_text("/created", "made");
  EXPECT_EQ(told(asked.call({"POST", "/created", "application/json", "{}"})), "201 made");
  EXPECT_EQ(told(asked.call({"DELETE", "/created", "", ""})), "200 made");
  std::string log;
  serve_text("/log", "a\nb\n");
  EXPECT_TRUE(asked.stream_parts("/log", std::chrono::seconds(60), [&](std::string_view part) {
    log += part;
    return true;
  }));
  EXPECT_EQ(log, "a\nb\n");
}

// A log that does not come would be waited for as long as a login.
TEST_F(AskedByKubectl, TimeToLogInIsShortOnceTheServerAnswered) {
  using std::chrono::seconds;
  Kubectl asked = kubectl();
  EXPECT_GE(asked.with_login(seconds(20)), seconds(80));
  EXPECT_TRUE(asked.call({"GET", "/forbidden", "", ""}));
  EXPECT_EQ(asked.with_login(seconds(20)), seconds(35));
}

TEST_F(AskedByKubectl, TheContextHasServerAndNamespace) {
  Kubectl asked = kubectl("other");
  EXPECT_EQ(asked.name_space().value(), "elsewhere");
  EXPECT_THAT(asked.server(), MatchesRegex("context other, https://127.0.0.1:[0-9]+"));
  EXPECT_EQ(kubectl().name_space().value(), "ml");
  EXPECT_THAT(kubectl("none").name_space().error().message, HasSubstr("kubectl: cannot locate context none"));
}

TEST_F(AskedByKubectl, AServerThatDoesNotAnswerIsNamedOnceWithItsContext) {
  const std::string server = "127.0.0.1:1";  // nobody listens there
  write("config",
        Json{{"current-context", "gone"},
             {"contexts", Json::array({{{"name", "gone"}, {"context", {{"cluster", "c"}}}}})},
             {"clusters", Json::array({{{"name", "c"}, {"cluster", {{"server", "https://" + server}}}}})}}
            .dump());
  EXPECT_EQ(told(kubectl().call({"GET", "/version", "", ""})),
            "context gone: The connection to the server " + server +
                " was refused - did you specify the right host or port?");
}

TEST_F(AskedByKubectl, EveryCommandThatAsksTakesAContext) {
  for (const std::string& line :
       {std::string("explain pod/a"), std::string("explain job/a"), "explain -f " + pod,
        std::string("verify pod/a"), std::string("doctor"), std::string("doctor --pods"),
        std::string("nodes"), std::string("report -o -"), std::string("check"), std::string("check --pre"),
        std::string("check -n ml")})
    tests::expect_shown(tests::run_cli(tests::words(line + " --context none --kubeconfig " + path("config"))),
                        4);
}

class ClusterOf : public tests::CliTest {
 protected:
  // Undone at the end.
  void set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.emplace_back(name, before != nullptr ? std::optional<std::string>(before) : std::nullopt);
    value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~ClusterOf() override {
    for (auto entry = before_.rbegin(); entry != before_.rend(); ++entry)
      entry->second ? ::setenv(entry->first.c_str(), entry->second->c_str(), 1)
                    : ::unsetenv(entry->first.c_str());
  }
  static std::string told(const ClusterArguments& arguments) {
    const auto found = connect_cluster(arguments);
    return found ? (*found)->server() : found.error().message;
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST_F(ClusterOf, WithoutKubectlAKubeconfigThatIsNamedOrAPodsOwnIsAsked) {
  set("PATH", "/nowhere");
  set("KUBECONFIG", "");
  set("KUBERNETES_SERVICE_HOST", "");
  EXPECT_THAT(told({}), AllOf(HasSubstr("kubectl"), HasSubstr("install it")));
  set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  set("KUBERNETES_SERVICE_PORT", "443");
  EXPECT_THAT(told({}), AnyOf(HasSubstr("the pod's service account"), "https://10.96.0.1:443"));
  EXPECT_THAT(told({"", "prod", ""}), HasSubstr("install it"));
  const auto config = [](const std::string& user) {
    return R"({"apiVersion": "v1", "kind": "Config", "current-context": "c",
               "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
               "clusters": [{"name": "k", "cluster": {"server": "https://api.example:6443"}}],
               "users": [{"name": "u", "user": )" +
           user + "}]}";
  };
  const std::string plain = write("config", config(R"({"token": "t"})"));
  EXPECT_EQ(told({plain, "", ""}), "https://api.example:6443");
  EXPECT_THAT(told({plain, "prod", ""}), HasSubstr("install it"));
  set("KUBECONFIG", plain);
  EXPECT_EQ(told({}), "https://api.example:6443");
  EXPECT_THAT(told({write("plugin", config(R"({"exec": {"command": "aws"}})")), "", ""}),
              HasSubstr("user 'u': exec: nobody is there to log in"));
}

TEST_F(ClusterOf, NoContextAtAllSaysWhatToGive) {
  tests::use_fake_kubectl();
  set("KUBECONFIG", "");
  set("KUBERNETES_SERVICE_HOST", "");
  tests::expect_shown(tests::run_cli({"doctor"}), 4);
}

}  // namespace
}  // namespace nccl_env::cli::kubectl_test
