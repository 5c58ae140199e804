// SPDX-License-Identifier: Apache-2.0
// The webhook with --store kubernetes, beside an API server that Python plays.
#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "core/recorded.h"
#include "nccl_env/base/yaml.h"
#include "support/openssl_client.h"
#include "support/places.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_cluster_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPolicies = "/apis/nccl-env.io/v1alpha1/ncclpolicies";
const std::string kTables = "/apis/nccl-env.io/v1alpha1/nodefabrics";
const std::string kNamespaces = "/api/v1/namespaces";
const std::string kPods = "/api/v1/namespaces/ml/pods";

Json object_of(const std::string& yaml) {
  return parse_documents(yaml, "test.yaml").value().front();
}

class WebhookInCluster : public WebhookTest {
 protected:
  void SetUp() override {
    const CommandResult made =
        run_command({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                     "-nodes", "-days", "2", "-subj", "/CN=kube-apiserver", "-addext",
                     "subjectAltName=IP:127.0.0.1", "-keyout", path("api.key"), "-out", path("api.crt")},
                    "", path("openssl.err"));
    ASSERT_EQ(made.code, 0) << read_text(path("openssl.err"));
    start_api();
    const Json kubeconfig{
        {"current-context", "test"},
        {"contexts", Json::array({{{"name", "test"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}})},
        {"clusters", Json::array({{{"name", "c"},
                                   {"cluster",
                                    {{"server", "https://127.0.0.1:" + std::to_string(api_port_)},
                                     {"certificate-authority", "api.crt"}}}}})},
        {"users", Json::array({{{"name", "u"}, {"user", {{"tokenFile", "token"}}}}})}};
    std::ofstream(path("kubeconfig")) << kubeconfig.dump();
    std::ofstream(path("token")) << "secret\n";
  }
  void TearDown() override { stop_api(); }

  void start_api() {
    api_ = std::make_unique<Child>(
        std::vector<std::string>{"python3", tests::in_source("/tests/webhook/fake_apiserver.py"),
                                 path("api.crt"), path("api.key"), std::to_string(api_port_), "secret"},
        path("api.err"));
    const std::string listening = api_->read_until("\n");
    ASSERT_THAT(listening, HasSubstr("listening ")) << read_text(path("api.err"));
    api_port_ = std::stoi(listening.substr(10));
  }
  void stop_api() {
    if (api_) api_->signal(SIGKILL);
    if (api_) api_->wait();
    api_.reset();
  }
  void put(const std::string& collection, const std::string& name, const Json& object) const {
    api_->write("put " + collection + " " + name + " " + object.dump() + "\n");
    ASSERT_EQ(api_->read_until("\n"), "done\n") << read_text(path("api.err"));
  }
  void tell_api(const std::string& command) const {
    api_->write(command + "\n");
    ASSERT_EQ(api_->read_until("\n"), "done\n") << read_text(path("api.err"));
  }
  Json get(const std::string& collection, const std::string& name) const {
    api_->write("get " + collection + " " + name + "\n");
    return Json::parse(api_->read_until("\n"), nullptr, false);
  }
  int asked(const std::string& path) const {
    api_->write("asked " + path + "\n");
    return std::stoi(api_->read_until("\n"));
  }
  void fill(const std::string& more_policy = "") const {
    put(kPolicies, "p", object_of(policy_yaml(more_policy)));
    put(kTables, "node-a", object_of(table_yaml()));
    put(kNamespaces, "ml", object_of(namespace_yaml()));
  }
  void start_webhook() { start({"--store", "kubernetes", "--kubeconfig", path("kubeconfig")}); }
  bool ready() const { return ops("/readyz").body == "ok\n"; }  // all tables are loaded
  Json annotations(const std::string& node) const {
    return patched(binding_review(node), admit(binding_review(node)))["metadata"].value("annotations",
                                                                                        Json::object());
  }

  std::unique_ptr<Child> api_;
  int api_port_ = 0;
};

TEST_F(WebhookInCluster, FollowsTablesAndPolicies) {
  fill();
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); })) << read_text(path("log"));
  EXPECT_EQ(annotations("node-a")["host.nccl-env.io/NCCL_IB_HCA"], "=mlx5_1");
  put(kTables, "node-a", object_of(table_yaml("node-a", "mlx5_7")));
  EXPECT_TRUE(eventually([&] { return annotations("node-a")["host.nccl-env.io/NCCL_IB_HCA"] == "=mlx5_7"; }));
  put(kNamespaces, "ml", object_of(namespace_yaml("other")));
  EXPECT_TRUE(eventually([&] { return annotations("node-a").empty(); }));
  EXPECT_EQ(metric(R"(nccl_env_watch_synced{kind="NodeFabric"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_watch_in_contact{kind="NcclPolicy"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_watch_relists_total{kind="Namespace"})"), 0);
  EXPECT_EQ(metric(R"(nccl_env_store_objects{kind="NodeFabric"})"), 1);
  EXPECT_TRUE(eventually([&] { return log("Kubernetes is older than 1.30").size() == 1; }));
  EXPECT_THAT(documented_metrics(), ::testing::IsSupersetOf(metric_names()));
}

TEST_F(WebhookInCluster, WithoutAnApiServerItListensIsNotReadyAndPassesNothingAsNotOurs) {
  stop_api();
  start_webhook();
  EXPECT_EQ(ops("/healthz").status, 200);
  const Reply not_ready = ops("/readyz");
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_THAT(not_ready.body, HasSubstr("have not been read yet"));
  EXPECT_EQ(metric("nccl_env_ready"), 0);
  const Reply refused = post("/admit", pod_review().dump());
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, Not(HasSubstr("Retry-After"))) << "it would hold every pod up for seconds";
  EXPECT_EQ(post("/validate", "{}").status, 400);  // needs no store
  start_api();
  fill();
  EXPECT_TRUE(eventually([&] { return ready(); }));
  EXPECT_EQ(metric("nccl_env_ready"), 1);
  EXPECT_FALSE(environment_of(pod_review()).empty());
}

TEST_F(WebhookInCluster, ACheckWithoutAnApiServerNamesTheReason) {
  stop_api();
  Child check(command({"--check", "--store", "kubernetes", "--kubeconfig", path("kubeconfig")}), path("log"));
  ASSERT_TRUE(eventually([&] { return !log("API server: watch disturbed").empty(); }));
  check.signal(SIGTERM);  // it would wait for 30 s
  EXPECT_EQ(check.wait(), 1);
  EXPECT_THAT(log("could not start", 1).front()["problem"],
              AllOf(HasSubstr("have not been read yet: "), HasSubstr("Connection refused")));
}

// The API server calls the hook because its own store has the label, so each pod must get its values.
TEST_F(WebhookInCluster, APodRightBehindItsNamespaceGetsItsValues) {
  fill();
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); }));
  for (int i = 0; i < 10; ++i) {
    const std::string name = "n" + std::to_string(i);
    put(kPolicies, name, object_of(policy_yaml()));
    put(kNamespaces, name, object_of(namespace_yaml(name)));
    EXPECT_TRUE(admit(pod_review(name)).contains("patch")) << name;
  }
  tell_api("mute " + kNamespaces);
  put(kNamespaces, "quiet", object_of(namespace_yaml()));
  EXPECT_TRUE(eventually([&] { return admit(pod_review("quiet")).contains("patch"); })) << "read by itself";
  EXPECT_GE(metric(R"(nccl_env_policy_reads_total{outcome="found"})"), 1);
  tell_api("delay 1000");
  put(kNamespaces, "late", object_of(namespace_yaml()));
  EXPECT_EQ(admit(pod_review("late"))["auditAnnotations"]["reason"], "NamespaceNotOptedIn");
  EXPECT_GE(metric(R"(nccl_env_policy_reads_total{outcome="failed"})"), 1);
}

TEST_F(WebhookInCluster, StrangersBindingsReadNoPodAndFewNamespaces) {
  fill();
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); }));
  std::list<net::TestClient> clients;
  for (int i = 0; i < 40; ++i)
    clients.emplace_back(static_cast<std::uint16_t>(port_), true, nullptr, 10 + i % 3);
  for (int i = 0; i < 40; ++i) {
    Json review = binding_review();
    review["request"]["namespace"] = "stranger-" + std::to_string(i);
    review["request"]["object"]["metadata"]["namespace"] = review["request"]["namespace"];
    std::next(clients.begin(), i)->send(net::post("/admit", review.dump()));
  }
  for (auto& client : clients) EXPECT_EQ(client.read_reply().status, 200);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(asked(kNamespaces + "/stranger-" + std::to_string(i) + "/pods"), 0);
  const double left_out = metric(R"(nccl_env_policy_reads_total{outcome="left_out"})");
  EXPECT_GE(left_out, 40 - 3 * 8) << "eight of an address wait";
  EXPECT_LE(log("decision").size(), 1u) << "once a minute, and those that were left out never";
}

TEST_F(WebhookInCluster, IsReadyForCreatesBeforeTablesAndBindingsReadTheirOwn) {
  fill();
  tell_api("hold " + kTables);
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ops("/readyz").status == 200; })) << read_text(path("log"));
  EXPECT_THAT(ops("/readyz").body, HasSubstr("ok: tables are still being read"));
  EXPECT_EQ(metric(R"(nccl_env_watch_synced{kind="NodeFabric"})"), 0);
  EXPECT_EQ(metric("nccl_env_ready"), 1);
  EXPECT_TRUE(patched(pod_review(), admit(pod_review()))["spec"]["containers"][0].contains("env"));
  // Reads again where a busy machine misses the deadline of 300 ms.
  Reply bound;
  ASSERT_TRUE(eventually([&] {
    bound = post("/admit", binding_review().dump());
    return bound.status == 200;
  })) << bound.body;
  EXPECT_EQ(patched(binding_review(),
                    bound.json()["response"])["metadata"]["annotations"]["host.nccl-env.io/NCCL_IB_HCA"],
            "=mlx5_1");
  EXPECT_EQ(metric(R"(nccl_env_table_reads_total{outcome="found"})"), 1);
  tell_api("delay 1000");
  const Reply late = post("/admit", binding_review("node-b").dump());
  EXPECT_EQ(late.status, 503);
  EXPECT_THAT(late.body, HasSubstr("the table of node node-b could not be read"));
  EXPECT_THAT(late.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_TRUE(late.closes()) << "the next attempt may reach another replica";
  EXPECT_EQ(log("not answered", 1).size(), 1u);
  EXPECT_GE(metric(R"(nccl_env_table_reads_total{outcome="failed"})"), 1);
  tell_api("hold none");
  EXPECT_TRUE(eventually([&] { return ready(); }));
  EXPECT_EQ(annotations("node-a")["host.nccl-env.io/NCCL_IB_HCA"], "=mlx5_1");
  EXPECT_EQ(post("/admit", binding_review("node-b").dump()).status, 200) << "not there, and nothing is read";
}

TEST_F(WebhookInCluster, AnswersOnWhileTheApiServerIsAwayAndIsCurrentSoonAfter) {
  fill();
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); }));
  stop_api();
  const std::string in_contact = R"(nccl_env_watch_in_contact{kind="NodeFabric"})";
  EXPECT_TRUE(eventually([&] { return metric(in_contact) == 0; }));
  EXPECT_TRUE(ready());
  EXPECT_EQ(annotations("node-a")["host.nccl-env.io/NCCL_IB_HCA"], "=mlx5_1");
  start_api();  // with another history: its versions begin anew
  fill();
  put(kTables, "node-a", object_of(table_yaml("node-a", "mlx5_3")));
  EXPECT_TRUE(eventually([&] { return annotations("node-a")["host.nccl-env.io/NCCL_IB_HCA"] == "=mlx5_3"; }))
      << read_text(path("log"));
}

TEST_F(WebhookInCluster, BeforeARefusalThePodIsReadFromTheApiServer) {
  fill("  onUnresolved: Deny\n");
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); }));
  Json pod = patched(pod_review(), admit(pod_review()));
  pod["metadata"]["uid"] = "pod-uid";
  put(kPods, "p", pod);
  Json denied;
  // Reads again where a busy machine misses the deadline of 300 ms, which lets the pod pass.
  ASSERT_TRUE(eventually([&] {
    denied = admit(binding_review("node-b"));
    return denied["allowed"] == false;
  })) << denied.dump();
  EXPECT_THAT(denied["status"]["message"].get<std::string>(),
              AllOf(HasSubstr("NoTable"), HasSubstr("node-b")));
  EXPECT_EQ(admit(binding_review("node-b", "another-uid"))["allowed"], true);
  stop_api();
  const Json passed = admit(binding_review("node-b"));
  EXPECT_EQ(passed["allowed"], true);
  EXPECT_EQ(passed["auditAnnotations"]["reason"], "PodLookupFailed");
}

// Forty connections of twelve addresses ask for other pods all the time, and none of them takes this one's
// place: it is read each time, and refused unless the fake API server was late.
TEST_F(WebhookInCluster, AFloodOfLookUpsDoesNotLetAHeldPodPass) {
  fill("  onUnresolved: Deny\n");
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); }));
  Json pod = patched(pod_review(), admit(pod_review()));
  pod["metadata"]["uid"] = "pod-uid";
  put(kPods, "p", pod);
  tell_api("delay 200");
  Json other = binding_review("node-b");
  other["request"]["name"] = other["request"]["object"]["metadata"]["name"] = "another";
  const std::string request = net::post("/admit", other.dump());
  std::atomic<bool> over{false};
  std::atomic<int> answers{0};
  std::vector<std::thread> flood;
  for (int i = 0; i < 8; ++i) {
    flood.emplace_back([&, i] {
      std::list<net::TestClient> clients;
      for (int k = 0; k < 5; ++k)
        clients.emplace_back(static_cast<std::uint16_t>(port_), true, nullptr, 10 + (5 * i + k) % 12);
      while (!over) {
        for (auto& client : clients) client.send(request);
        for (auto& client : clients) answers += client.read_reply().status == 200 ? 1 : 0;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answers > 100; }));
  int refused = 0;
  for (int i = 0; i < 12; ++i) refused += admit(binding_review("node-b"))["allowed"] == false ? 1 : 0;
  over = true;
  for (std::thread& thread : flood) thread.join();
  EXPECT_GT(refused, 0);
  int passed = 0;
  EXPECT_TRUE(eventually([&] {
    passed = 0;
    for (const Json& decision : log("decision")) {
      if (decision["resource"] != "binding" || decision["pod"] != "p") continue;
      EXPECT_THAT(decision.value("detail", ""), Not(HasSubstr("Too many")));
      passed += decision["decision"] == "deny" ? 0 : 1;
    }
    return refused + passed == 12;
  })) << refused
      << " refused, " << passed << " passed";
}

TEST_F(WebhookInCluster, EachPolicyIsToldWhatBecameOfIt) {
  fill();
  put(kPolicies, "odd", object_of(policy_yaml("", "99")));
  start_webhook();
  const auto condition = [&](const std::string& name) {
    const Json policy = get(kPolicies, name);
    return policy.contains("status") ? policy["status"]["conditions"][0] : Json::object();
  };
  ASSERT_TRUE(eventually([&] { return !condition("p").empty() && !condition("odd").empty(); }))
      << read_text(path("log"));
  EXPECT_EQ(condition("p")["status"], "True");
  EXPECT_EQ(condition("odd")["status"], "False");
  EXPECT_THAT(condition("odd")["message"].get<std::string>(), HasSubstr("spec.env.NCCL_IB_TIMEOUT"));
  put(kPolicies, "odd", object_of(policy_yaml()));
  EXPECT_TRUE(eventually([&] { return condition("odd").value("status", "") == "True"; }));
  EXPECT_EQ(metric(R"(nccl_env_policy_condition_writes_total{outcome="failed"})"), 0);
  EXPECT_GE(metric(R"(nccl_env_policy_condition_writes_total{outcome="written"})"), 3);
}

TEST_F(WebhookInCluster, AKubeconfigThatIsOfNoUseIsSaidAtTheStart) {
  std::ofstream(path("kubeconfig")) << "current-context: x";
  const CommandResult result = run_command(
      command({"--store", "kubernetes", "--kubeconfig", path("kubeconfig")}), "", path("run.err"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(read_text(path("run.err")), HasSubstr("kubeconfig: contexts: there is no context named 'x'"));
  const CommandResult wrong = run_command(command({"--kubeconfig", path("kubeconfig")}), "", path("run.err"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(read_text(path("run.err")), HasSubstr("--kubeconfig is for --store kubernetes"));
}

TEST_F(WebhookInCluster, ThePluginsDoctorReadsTheSameObjectsPageByPage) {
  fill();
  for (int n = 0; n < 600; ++n)
    put(kTables, "more-" + std::to_string(n), object_of(table_yaml("more-" + std::to_string(n))));
  const std::string kubectl = "PATH=" + tests::in_build("/tests/programs") + ":" + std::getenv("PATH");
  const auto plugin = [&](const std::string& command) {
    return run_command({"env", kubectl, tests::in_build("/bin/kubectl-nccl_env"), command, "--kubeconfig",
                        path("kubeconfig"), "-o", "json"},
                       "", path("plugin.err"));
  };
  const CommandResult nodes = plugin("nodes");
  EXPECT_EQ(nodes.code, 0) << read_text(path("plugin.err"));
  EXPECT_EQ(Json::parse(nodes.output).size(), 601u);
  // All have the one address that the test's tables have.
  const CommandResult doctor = plugin("doctor");
  EXPECT_EQ(doctor.code, 1) << read_text(path("plugin.err"));
  EXPECT_THAT(doctor.output, HasSubstr("\"code\": \"DuplicateAddress\""));
  std::ofstream(path("token")) << "wrong\n";
  EXPECT_EQ(plugin("doctor").code, 4);
  EXPECT_THAT(read_text(path("plugin.err")), HasSubstr("context test, https://127.0.0.1:"));
  stop_api();
  EXPECT_EQ(plugin("doctor").code, 4);
  EXPECT_THAT(read_text(path("plugin.err")),
              HasSubstr("context test: The connection to the server 127.0.0.1:"));
}

}  // namespace
}  // namespace nccl_env::webhook_cluster_test
