// SPDX-License-Identifier: Apache-2.0
// The webhook with --store kubernetes, beside an API server in memory.
#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "core/recorded.h"
#include "kube/fake_api.h"
#include "nccl_env/base/yaml.h"
#include "support/openssl_client.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_cluster_test {
namespace {

using namespace nccl_env::tests;

const std::string kPolicies = "/apis/nccl-env.io/v1alpha1/ncclpolicies";
const std::string kTables = "/apis/nccl-env.io/v1alpha1/nodefabrics";
const std::string kNamespaces = "/api/v1/namespaces";
const std::string kPods = "/api/v1/namespaces/ml/pods";

Json object_of(const std::string& yaml) {
  return parse_documents(yaml, "test.yaml").value().front();
}

class WebhookInCluster : public WebhookTest {
 protected:
  WebhookInCluster() {
    api_.set_token("secret");
    api_.set_version(R"({"major":"1","minor":"28","gitVersion":"v1.28.0"})");
    std::ofstream(path("kubeconfig")) << kubeconfig_of(api_.port(), {{"tokenFile", "token"}});
    std::ofstream(path("token")) << "secret\n";
  }

  void fill(const std::string& more_policy = "") {
    api_.put(kPolicies, "p", object_of(policy_yaml(more_policy)));
    api_.put(kTables, "node-a", object_of(table_yaml()));
    api_.put(kNamespaces, "ml", object_of(namespace_yaml()));
  }
  // With what it has read.
  void start_filled(const std::string& more_policy = "") {
    fill(more_policy);
    start_webhook();
    ASSERT_TRUE(eventually([&] { return ready(); })) << read_text(path("log"));
  }
  void start_webhook() { start({"--store", "kubernetes", "--kubeconfig", path("kubeconfig")}); }
  bool ready() const { return ops("/readyz").body == "ok\n"; }  // all tables are loaded
  Json annotations(const std::string& node) const {
    return patched(binding_review(node), admit(binding_review(node)))["metadata"].value("annotations",
                                                                                        Json::object());
  }

  FakeApi api_;
};

TEST_F(WebhookInCluster, FollowsTablesAndPolicies) {
  start_filled();
  EXPECT_EQ(bound_list(annotations("node-a")), "=mlx5_1");
  api_.put(kTables, "node-a", object_of(table_yaml("node-a", "mlx5_7")));
  EXPECT_TRUE(eventually([&] { return bound_list(annotations("node-a")) == "=mlx5_7"; }));
  api_.put(kNamespaces, "ml", object_of(namespace_yaml("other")));
  EXPECT_TRUE(eventually([&] { return annotations("node-a").empty(); }));
  EXPECT_EQ(metric(R"(nccl_env_watch_synced{kind="NodeFabric"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_watch_in_contact{kind="NcclPolicy"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_watch_relists_total{kind="Namespace"})"), 0);
  EXPECT_EQ(metric(R"(nccl_env_store_objects{kind="NodeFabric"})"), 1);
  EXPECT_TRUE(eventually([&] { return log("Kubernetes is older than 1.30").size() == 1; }));
  EXPECT_THAT(documented_metrics(), ::testing::IsSupersetOf(metric_names()));
}

TEST_F(WebhookInCluster, WithoutAnApiServerItListensIsNotReadyAndPassesNothingAsNotOurs) {
  api_.stop();
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
  api_.restart();
  fill();
  EXPECT_TRUE(eventually([&] { return ready(); }));
  EXPECT_EQ(metric("nccl_env_ready"), 1);
  EXPECT_FALSE(environment_of(pod_review()).empty());
}

TEST_F(WebhookInCluster, ACheckWithoutAnApiServerNamesTheReason) {
  api_.stop();
  Child check(command({"--check", "--store", "kubernetes", "--kubeconfig", path("kubeconfig")}), path("log"));
  ASSERT_TRUE(eventually([&] { return !log("API server: watch disturbed").empty(); }));
  check.signal(SIGTERM);  // it would wait for 30 s
  EXPECT_EQ(check.wait(), 1);
  EXPECT_THAT(log("could not start", 1).front()["problem"],
              AllOf(HasSubstr("have not been read yet: "), HasSubstr("Connection refused")));
}

// The API server calls the hook because its own store has the label, so each pod must get its values.
TEST_F(WebhookInCluster, APodRightBehindItsNamespaceGetsItsValues) {
  start_filled();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "n" + std::to_string(i);
    api_.put(kPolicies, name, object_of(policy_yaml()));
    api_.put(kNamespaces, name, object_of(namespace_yaml(name)));
    EXPECT_TRUE(admit(pod_review(name)).contains("patch")) << name;
  }
  api_.mute_watches(kNamespaces);
  api_.put(kNamespaces, "quiet", object_of(namespace_yaml()));
  EXPECT_TRUE(eventually([&] { return admit(pod_review("quiet")).contains("patch"); })) << "read by itself";
  EXPECT_GE(metric(R"(nccl_env_policy_reads_total{outcome="found"})"), 1);
}

TEST_F(WebhookInCluster, StrangersBindingsReadNoPodAndFewNamespaces) {
  start_filled();
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
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(api_.asked(kNamespaces + "/stranger-" + std::to_string(i) + "/pods"), 0);
  const double left_out = metric(R"(nccl_env_policy_reads_total{outcome="left_out"})");
  EXPECT_GE(left_out, 40 - 3 * 8) << "eight of an address wait";
  EXPECT_LE(log("decision").size(), 1u) << "once a minute, and those that were left out never";
}

TEST_F(WebhookInCluster, IsReadyForCreatesBeforeTablesAndBindingsReadTheirOwn) {
  fill();
  api_.hold(kTables);
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
  EXPECT_EQ(bound_list(patched(binding_review(), bound.json()["response"])["metadata"]["annotations"]),
            "=mlx5_1");
  EXPECT_EQ(metric(R"(nccl_env_table_reads_total{outcome="found"})"), 1);
  api_.delay(std::chrono::seconds(1));
  const Reply late = post("/admit", binding_review("node-b").dump());
  EXPECT_EQ(late.status, 503);
  EXPECT_THAT(late.body, HasSubstr("the table of node node-b could not be read"));
  EXPECT_THAT(late.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_TRUE(late.closes()) << "the next attempt may reach another replica";
  EXPECT_EQ(log("not answered", 1).size(), 1u);
  EXPECT_GE(metric(R"(nccl_env_table_reads_total{outcome="failed"})"), 1);
  api_.hold("");
  EXPECT_TRUE(eventually([&] { return ready(); }));
  EXPECT_EQ(bound_list(annotations("node-a")), "=mlx5_1");
  EXPECT_EQ(post("/admit", binding_review("node-b").dump()).status, 200) << "not there, and nothing is read";
}

TEST_F(WebhookInCluster, AfterARebootTheTableFromBeforeGivesNothing) {
  const auto boots = [this](const std::string& id) {
    api_.put("/api/v1/nodes", "node-a", Json{{"status", {{"nodeInfo", {{"bootID", id}}}}}});
  };
  const auto checked = [this](const std::string& outcome) {
    return metric("nccl_env_boot_checks_total{outcome=\"" + outcome + "\"}");
  };
  const auto hcas = [this] { return bound_list(annotations("node-a")); };
  fill();
  Json table = object_of(table_yaml());
  table["observed"]["bootId"] = "boot-a";
  api_.put(kTables, "node-a", table);
  boots("boot-b");
  start_webhook();
  ASSERT_TRUE(eventually([&] { return ready(); })) << read_text(path("log"));
  EXPECT_TRUE(eventually([&] { return hcas() == ""; }));
  EXPECT_GE(checked("other"), 1);
  table["observed"]["bootId"] = "boot-b";
  api_.put(kTables, "node-a", table);
  EXPECT_TRUE(eventually([&] { return hcas() == "=mlx5_1"; }));
  EXPECT_TRUE(eventually([&] { return hcas() == "=mlx5_1" && checked("same") >= 1; }));
  const auto asked = api_.asked("/api/v1/nodes");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(hcas(), "=mlx5_1");
  EXPECT_EQ(api_.asked("/api/v1/nodes"), asked) << "kept";
}

// Forty connections of twelve addresses ask for other pods all the time, and none of them takes this one's
// place: it is read each time, and refused unless the fake API server was late.
TEST_F(WebhookInCluster, AFloodOfLookUpsDoesNotLetAHeldPodPass) {
  start_filled("  onUnresolved: Deny\n");
  Json pod = patched(pod_review(), admit(pod_review()));
  pod["metadata"]["uid"] = "pod-uid";
  api_.put(kPods, "p", pod);
  api_.delay(std::chrono::milliseconds(200));
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
  api_.put(kPolicies, "odd", object_of(policy_yaml("", "99")));
  start_webhook();
  const auto condition = [&](const std::string& name) {
    const Json policy = api_.get(kPolicies, name);
    return policy.contains("status") ? policy["status"]["conditions"][0] : Json::object();
  };
  ASSERT_TRUE(eventually([&] { return !condition("p").empty() && !condition("odd").empty(); }))
      << read_text(path("log"));
  EXPECT_EQ(condition("p")["status"], "True");
  EXPECT_EQ(condition("odd")["status"], "False");
  EXPECT_THAT(condition("odd")["message"].get<std::string>(), HasSubstr("spec.env.NCCL_IB_TIMEOUT"));
  api_.put(kPolicies, "odd", object_of(policy_yaml()));
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
}

}  // namespace
}  // namespace nccl_env::webhook_cluster_test
