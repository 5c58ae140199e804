// SPDX-License-Identifier: Apache-2.0
// Answers of nccl-env-webhook over TLS, with curl as the client.
#include <list>

#include "core/pods.h"
#include "core/recorded.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/program/version.h"
#include "support/openssl_client.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_test {
namespace {

using namespace nccl_env::tests;

class WebhookAnswers : public WebhookTest {
 protected:
  void SetUp() override {
    store("policy.yaml", policy_yaml());
    store("node-a.yaml", table_yaml());
    store("namespace.yaml", namespace_yaml());
  }

  // The annotations that a Binding gets, by key.
  [[nodiscard]] Json bound_annotations(const Json& binding) const {
    return patched(binding, admit(binding))["metadata"].value("annotations", Json::object());
  }
};

TEST_F(WebhookAnswers, APodAndItsBindingGiveTheNodesEnvironmentAsANodeNameDoesAtOnce) {
  start();
  const auto expected = UnorderedElementsAre(Pair("NCCL_IB_HCA", "=mlx5_1"), Pair("NCCL_IB_GID_INDEX", "3"),
                                             Pair("NCCL_IB_TIMEOUT", "22"));
  EXPECT_THAT(environment_of(pod_review()), expected);
  Json review = pod_review();
  review["request"]["object"]["spec"]["nodeName"] = "node-a";
  const Json pod = patched(review, admit(review));
  EXPECT_THAT(nccl_environment(pod, 0), expected);
  EXPECT_EQ(Json::parse(pod["metadata"]["annotations"]["nccl-env.io/node"].get<std::string>())["node"],
            "node-a");
}

TEST_F(WebhookAnswers, TheRecordedReviewsOfBothBindingEndpoints) {
  start();
  for (const auto& [name, text] : recorded("binding-")) {
    Json review = Json::parse(text);
    review["request"]["object"]["target"]["name"] = "node-a";
    EXPECT_EQ(bound_annotations(review)["subinterface.nccl-env.io/nccl.conf"],
              "NCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n#NCCL_IB_HCA\n")
        << name;
  }
}

TEST_F(WebhookAnswers, TheResponseTellsStatusAndAuditAndWarnings) {
  start();
  Json review = pod_review();
  review["request"]["object"]["spec"]["containers"][0]["env"] =
      Json::array({variable_entry("NCCL_IB_RETRY_CNT", "10")});
  const Json response = admit(review);
  EXPECT_EQ(response["patchType"], "JSONPatch");
  EXPECT_EQ(response["auditAnnotations"]["decision"], "inject");
  EXPECT_THAT(response["warnings"], SizeIs(3));
  EXPECT_THAT(response["warnings"][0], HasSubstr("container c: NCCL_IB_RETRY_CNT"));
  const Json pod = patched(review, response);
  const std::string text = pod["metadata"]["annotations"]["nccl-env.io/status"];
  EXPECT_EQ(response["auditAnnotations"]["status"], text);
  const Json status = Json::parse(text);
  EXPECT_EQ(status["policy"], "p");
  EXPECT_EQ(status["exposure"], "Host");
  EXPECT_EQ(status["containers"]["c"]["set"]["NCCL_IB_HCA"], "File");
  EXPECT_EQ(status["containers"]["c"]["omitted"]["NCCL_SOCKET_IFNAME"], "OmittedByPolicy");
}

TEST_F(WebhookAnswers, EachDecisionIsOneLogLine) {
  start();
  Json review = pod_review();
  review["request"]["object"]["spec"]["containers"][0]["env"] = {variable_entry("NCCL_IB_HCA", "mlx5_9"),
                                                                 variable_entry("TOKEN", "a-secret")};
  admit(review);
  admit(binding_review("node-b"));
  const auto lines = log("decision", 2);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0]["resource"], "pod");
  EXPECT_EQ(lines[0]["namespace"], "ml");
  EXPECT_EQ(lines[0]["decision"], "inject");
  EXPECT_EQ(lines[0]["set"], Json::array({"c/NCCL_IB_TIMEOUT"}));
  EXPECT_EQ(lines[0]["omitted"]["c/NCCL_IB_HCA"], "UserSet");
  EXPECT_EQ(lines[0]["omitted"]["c/NCCL_IB_GID_INDEX"], "UserSetGroup");
  EXPECT_EQ(lines[1]["resource"], "binding");
  EXPECT_EQ(lines[1]["node"], "node-b");
  EXPECT_EQ(lines[1]["omitted"]["host/NCCL_IB_HCA"], "NoTable");
  EXPECT_THAT(read_text(path("log")), ::testing::Not(HasSubstr("a-secret")));
}

TEST_F(WebhookAnswers, WhatIsNotAReviewGetsAJsonErrorThatSaysWhy) {
  start();
  const std::string good = pod_review().dump();
  const Reply text = post("/admit", good, {"-H", "Content-Type: text/plain"});
  EXPECT_EQ(text.status, 415);
  EXPECT_TRUE(text.json()["error"].is_string()) << text.body;
  EXPECT_EQ(post("/elsewhere", good).status, 404);
  const Reply get = post("/admit", "", {"--get"});
  EXPECT_EQ(get.status, 405);
  EXPECT_THAT(get.head, HasSubstr("\r\nAllow: POST\r\n"));
  Json bad = pod_review();
  bad["request"]["object"]["spec"]["containers"][0]["env"] = "none";
  const Reply malformed = post("/admit", bad.dump());
  EXPECT_EQ(malformed.status, 400);
  EXPECT_THAT(malformed.json()["error"].get<std::string>(),
              HasSubstr("request.object.spec.containers[0].env"));
  EXPECT_EQ(post("/admit", good.substr(0, good.size() / 2)).status, 400);
  EXPECT_EQ(post("/admit", "").status, 400);
  EXPECT_EQ(metric("nccl_env_malformed_reviews_total"), 3);
  EXPECT_THAT(log("malformed review", 1), SizeIs(1)) << "once a minute: strangers may send any number";
}

TEST_F(WebhookAnswers, ReviewsOfNamespacesThatDoNotAskAreLoggedOnceAMinute) {
  start();
  for (int i = 0; i < 5; ++i) admit(pod_review("stranger-" + std::to_string(i)));
  admit(pod_review());
  EXPECT_THAT(log("decision", 2), SizeIs(2)) << "the first stranger's, and a real one";
}

TEST_F(WebhookAnswers, ABodyOverEightMebibytesIsRefused) {
  start();
  Json review = pod_review();
  review["request"]["object"]["metadata"]["annotations"]["big"] = std::string(8u << 20, 'x');
  std::ofstream(path("big.json")) << review.dump();
  EXPECT_EQ(post("/admit", "", {"--data-binary", "@" + path("big.json")}).status, 413);
  EXPECT_TRUE(admit(pod_review()).contains("patch"));
}

TEST_F(WebhookAnswers, TheOtherPortTellsHealthAndMetricsOnly) {
  start();
  EXPECT_EQ(ops("/healthz").status, 200);
  EXPECT_EQ(ops("/readyz").status, 200);
  EXPECT_EQ(ops("/admit").status, 404);
  EXPECT_EQ(ops("/metrics", {"-X", "POST"}).status, 405);
  admit(pod_review());
  EXPECT_EQ(metric(R"(nccl_env_decisions_total{resource="pod",outcome="inject",reason="none"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_variables_total{variable="NCCL_IB_HCA",reason="none"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_store_objects{kind="NodeFabric"})"), 1);
  const std::string version = "version=\"" + std::string(program::kVersion) + "\"";
  EXPECT_EQ(metric("nccl_env_build_info{" + version + R"(,nccl_rules="2.18-2.32"})"), 1);
  EXPECT_THAT(documented_metrics(), ::testing::IsSupersetOf(metric_names()));
}

// `nccl-env check` sends them: no pod comes of one.
TEST_F(WebhookAnswers, DryRunsAreCountedApartAndLoggedForDebuggingAlone) {
  start();
  for (Json review : {pod_review(), binding_review("node-b"), pod_review("stranger")}) {
    review["request"]["dryRun"] = true;
    admit(review);
  }
  admit(pod_review());
  const std::string injected = R"(nccl_env_decisions_total{resource="pod",outcome="inject",reason="none"})";
  EXPECT_EQ(metric(injected), 1);
  EXPECT_EQ(metric(R"(nccl_env_decision_duration_seconds_count{resource="pod"})"), 1);
  EXPECT_EQ(metric(R"(nccl_env_variables_total{variable="NCCL_IB_HCA",reason="NoTable"})"), 0);
  EXPECT_EQ(metric(R"(nccl_env_dry_runs_total{resource="pod"})"), 2);
  EXPECT_EQ(metric(R"(nccl_env_dry_runs_total{resource="binding"})"), 1);
  EXPECT_THAT(log("decision", 1), SizeIs(1));
}

TEST_F(WebhookAnswers, ContainerStartHasTheInitContainersOptions) {
  start({"--resolver-image", "registry.example/agent:1", "--resolver-cpu", "50m", "--resolver-memory", "32Mi",
         "--resolver-ephemeral-storage", "8Mi"});
  EXPECT_THAT(
      log("--resolver-image names no digest: what pods get is what the tag points to when they start"),
      SizeIs(1));
  Json review = pod_review();
  review["request"]["object"]["spec"].erase("hostNetwork");
  review["request"]["object"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1";
  const Reply reply = post("/admit", review.dump());
  const Json pod = patched(review, reply.json()["response"]);
  const Json& resolver = pod["spec"]["initContainers"][0];
  EXPECT_EQ(resolver["image"], "registry.example/agent:1");
  EXPECT_EQ(resolver["resources"]["limits"],
            (Json{{"cpu", "50m"}, {"memory", "32Mi"}, {"ephemeral-storage", "8Mi"}}));
  EXPECT_EQ(metric(R"(nccl_env_variables_total{variable="nccl.conf",reason="none"})"), 1);
}

TEST_F(WebhookAnswers, SilentConnectionsDoNotFailTheProbe) {
  start();
  std::list<net::TestClient> silent;
  for (int i = 0; i < 200; ++i)
    silent.emplace_back(static_cast<std::uint16_t>(ops_port_), false, nullptr, 1 + i % 20);
  EXPECT_EQ(ops("/healthz").status, 200);
}

TEST_F(WebhookAnswers, AdmissionGoesOnBesideAsManySilentConnectionsAsThereIsRoomFor) {
  start({"--max-connections", "32"});
  std::list<net::TestClient> silent;
  for (int i = 0; i < 100; ++i)
    silent.emplace_back(static_cast<std::uint16_t>(port_), false, nullptr, 2 + i % 20);
  EXPECT_FALSE(admit(pod_review()).is_null());
  EXPECT_GT(metric(R"(nccl_env_connections_evicted_total{cause="unused"})"), 0);
  EXPECT_EQ(metric("nccl_env_connections_refused_total"), 0);
}

TEST_F(WebhookAnswers, StaleTablesAreCountedByTheClockOfTheScrape) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto observed = [&](std::chrono::seconds ago) {
    return "observed:\n  time: \"" + format_timestamp(now - ago) + "\"\n  ports: []\n";
  };
  const auto table = [&](const std::string& name, std::chrono::seconds ago) {
    store(name + ".yaml", "apiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: " + name +
                              "}\n" + observed(ago));
  };
  table("fresh", std::chrono::seconds(0));
  table("old", std::chrono::minutes(11));
  table("older", std::chrono::hours(99));
  start({"--max-table-age", "10m"});
  EXPECT_EQ(metric("nccl_env_tables_stale"), 2);
  table("old", std::chrono::seconds(0));
  EXPECT_TRUE(eventually([&] { return metric("nccl_env_tables_stale") == 1; }));
}

TEST_F(WebhookAnswers, ValidateNamesEveryFindingOfAPolicy) {
  start();
  const auto validate = [&](const std::string& env) {
    const Reply reply = post("/validate", R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
      "request": {"uid": "v", "operation": "CREATE", "object": {"kind": "NcclPolicy",
      "apiVersion": "nccl-env.io/v1alpha1", "metadata": {"name": "p"}, "spec": {"match": {"hostDevices": true},
      "env": )" + env + "}}}}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json()["response"];
  };
  const Json good = validate(R"({"NCCL_IB_TIMEOUT": "22"})");
  EXPECT_EQ(good["uid"], "v");
  EXPECT_EQ(good["allowed"], true);
  const Json bad = validate(R"({"NCCL_IB_TIMEOUT": "99", "NCCL_IB_HCA": "mlx5"})");
  EXPECT_EQ(bad["allowed"], false);
  EXPECT_EQ(bad["status"]["code"], 422);
  EXPECT_THAT(bad["status"]["message"].get<std::string>(),
              AllOf(HasSubstr("spec.env.NCCL_IB_TIMEOUT"), HasSubstr("spec.env.NCCL_IB_HCA")));
  EXPECT_EQ(post("/validate", R"({"kind": "Pod"})").status, 400);
}

TEST_F(WebhookAnswers, ADenyHoldsAPodOfOursOnANodeWithoutATableUntilThatExists) {
  store("policy.yaml", policy_yaml("  onUnresolved: Deny\n"));
  start();
  Json ours = patched(pod_review(), admit(pod_review()));
  ours["metadata"]["uid"] = "pod-uid";
  EXPECT_EQ(admit(binding_review("node-b"))["auditAnnotations"]["reason"], "PodLookupFailed");
  store("pods/ml/p.json", ours.dump());
  const Json denied = admit(binding_review("node-b"));
  EXPECT_EQ(denied["allowed"], false);
  EXPECT_EQ(denied["status"]["code"], 403);
  EXPECT_THAT(denied["status"]["message"].get<std::string>(),
              AllOf(HasSubstr("NoTable"), HasSubstr("node-b"), HasSubstr("import a table")));
  EXPECT_EQ(metric(R"(nccl_env_decisions_total{resource="binding",outcome="deny",reason="NoTable"})"), 1);
  EXPECT_EQ(admit(binding_review("node-a"))["allowed"], true);

  store("node-b.yaml", table_yaml("node-b", "mlx5_7"));
  EXPECT_TRUE(eventually([&] { return admit(binding_review("node-b"))["allowed"] == true; }));
  EXPECT_THAT(bound_annotations(binding_review("node-b"))["hostnetwork.nccl-env.io/nccl.conf"].dump(),
              HasSubstr("NCCL_IB_HCA==mlx5_7\\n"));
}

}  // namespace
}  // namespace nccl_env::webhook_test
