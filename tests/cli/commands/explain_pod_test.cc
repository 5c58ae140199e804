// SPDX-License-Identifier: Apache-2.0
// nccl-env explain pod/NAME: what is asked of a cluster, and what without rights. What is told: core's
// pod_answer_test.cc.
#include "cli/asked_cluster.h"
#include "support/golden.h"

namespace nccl_env::explain_pod_test {
namespace {

using namespace nccl_env::tests;

const std::string kPodPath = "/api/v1/namespaces/ml/pods/train-0";
const std::string kSpacePath = "/api/v1/namespaces/ml";
const std::string kTablePath = "/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1";

class ExplainPod : public AskedCluster {
 protected:
  void serve_all() {
    serve(kSpacePath,
          {{"kind", "Namespace"}, {"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}});
    serve(kPolicyPath, object_of(kPolicy));
    serve(kTablePath, object_of(kTable));
  }
};

TEST_F(ExplainPod, WithThePodAloneItTellsTheValuesAndWhichRightsAreMissing) {
  serve(kPodPath, given_pod("train-0"));
  expect_shown(run({"explain", "pod/train-0"}));
  EXPECT_THAT(asked(), ElementsAre(kPodPath, kSpacePath, kPolicyPath, kTablePath));
  serve("/api/v1/namespaces/elsewhere/pods/train-0", given_pod("train-0"));
  EXPECT_EQ(run({"explain", "pod/train-0", "--context", "other"}).code, 0);
  expect_shown(run({"explain", "pod/train-0", "--context", "none"}), 4);
}

TEST_F(ExplainPod, WithAllRightsItTellsNcclsChoiceAndLeavesNothingOut) {
  serve(kPodPath, given_pod("train-0"));
  serve_all();
  expect_shown(run({"explain", "pod", "train-0", "-n", "ml", "--nccl-version", "2.21.5"}));
}

TEST_F(ExplainPod, ATableThatChangedIsCode1) {
  serve(kPodPath, given_pod("train-0", "gpu-1", "=mlx5_0,mlx5_1"));
  serve_all();
  const CliResult result = run({"explain", "pod/train-0", "-o", "json"});
  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["changes"][0]["then"], "=mlx5_0,mlx5_1");
  EXPECT_EQ(json["changes"][0]["now"], "=mlx5_0");
}

TEST_F(ExplainPod, MissedAtAdmissionNeedsNamespaceAndPolicy) {
  Json object = Json::parse(kPod);
  object["metadata"] = {{"name", "train-0"}, {"namespace", "ml"}};
  serve(kPodPath, object);
  expect_shown(run({"explain", "pod/train-0"}));
  serve_all();
  expect_shown(run({"explain", "pod/train-0"}), 1);
  serve_none(kPolicyPath);
  expect_shown(run({"explain", "pod/train-0"}), 1);
  object["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  serve(kPodPath, object);
  EXPECT_EQ(run({"explain", "pod/train-0", "-o", "env"}).out, "# not injected\n");
}

TEST_F(ExplainPod, APendingPodsEventTellsWhoHoldsIt) {
  Json object = given_pod("train-0");
  object["spec"].erase("nodeName");
  for (const char* key : {"nccl-env.io/node", "host.nccl-env.io/nccl.conf"})
    object["metadata"]["annotations"].erase(key);
  serve(kPodPath, object);
  serve(
      "/api/v1/namespaces/ml/events?fieldSelector=involvedObject.name%3Dtrain-0%2Creason%3DFailedScheduling"
      "&limit=500",
      {{"metadata", {{"resourceVersion", "1"}}},
       {"items",
        {{{"metadata", {{"name", "e"}, {"resourceVersion", "1"}}},
          {"message", "admission webhook \"binding.nccl-env.io\" denied the request: NoTable"}}}}});
  expect_shown(run({"explain", "pod/train-0"}), 1);
}

TEST_F(ExplainPod, ThePodItselfHasToBeReadable) {
  expect_shown(run({"explain", "pod/train-0"}), 4);
  serve_none(kPodPath);
  expect_shown(run({"explain", "pod/train-0"}), 4);
  for (const std::string text :
       {"[]", "{", "{}", "{\"metadata\":7}", "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}"}) {
    serve_text(kPodPath, text);
    const CliResult bad = run({"explain", "pod/train-0"});
    EXPECT_THAT(bad.out, IsEmpty()) << text;
    expect_shown(bad, 4);
  }
}

TEST_F(ExplainPod, HostileObjectsBesideThePodAreLeftOut) {
  Json object = given_pod("train-0", "..%2f..");
  serve(kPodPath, object);
  serve_text(kSpacePath, R"({"metadata":{"labels":{"nccl-env.io/policy":"../secrets"}}})");
  const CliResult result = run({"explain", "pod/train-0"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(asked(), ElementsAre(kPodPath, kSpacePath));
  serve_text(kSpacePath, R"({"metadata":{"labels":{"nccl-env.io/policy":"p"}}})");
  for (const std::string text :
       {R"({"metadata":[],"status":{"conditions":[7,{"type":"Accepted","status":"True"}]}})",
        R"({"status":[]})", R"({"status":{"conditions":{}},"metadata":{}})"}) {
    serve_text(kPolicyPath, text);
    expect_shown(run({"explain", "pod/train-0"}));
  }
}

TEST_F(ExplainPod, PodsOfAFileNeedNoCluster) {
  const Json list{{"kind", "List"}, {"items", {given_pod("train-0"), given_pod("train-1")}}};
  const std::string file = write("pods.json", list.dump());
  const std::string moment = "2026-11-20T08:00:00Z";
  expect_shown(run_cli({"explain", "pod", "-f", file, "--policy", policy, "--table", table, "--at", moment}));
  expect_answer(run_cli({"explain", "pod", "-f", file}));
  EXPECT_THAT(Json::parse(run_cli({"explain", "pod", "-f", file, "-o", "json"}).out), SizeIs(2));
  expect_shown(run_cli({"explain", "pod", "-f", file, "-o", "env"}));
  const Json unlike{{"kind", "List"}, {"items", {given_pod("a"), given_pod("b", "gpu-1", "=mlx5_0,mlx5_1")}}};
  const std::string other = write("unlike.json", unlike.dump());
  EXPECT_THAT(run_cli({"explain", "pod", "-f", other, "--policy", policy, "--table", table}).out,
              StartsWith("1 of 2 pods to act on: pod ml/b: "));
  expect_shown(run_cli({"explain", "pod", "-f", policy}), 4);
  const std::string empty = write("l.json", R"({"kind":"List","items":[]})");
  for (const char* target : {"pod", "job"}) expect_shown(run_cli({"explain", target, "-f", empty}), 3);
}

TEST_F(ExplainPod, AManifestThatNobodyCreatedHasItsOwnCommand) {
  expect_shown(run_cli({"explain", "pod", "-f", pod, "--policy", policy}), 4);
  for (const char* sign : {R"({"uid":"u"})", R"({"creationTimestamp":"2026-11-20T08:00:00Z"})"}) {
    Json object = Json::parse(kPod);
    object["metadata"].update(Json::parse(sign));
    EXPECT_EQ(run_cli({"explain", "pod", "-f", write("made.json", object.dump())}).code, 0) << sign;
  }
}

TEST_F(ExplainPod, AManifestTakesThePolicyOfItsNamespaceAndTheTableOfItsNode) {
  serve_all();
  expect_shown(run({"explain", "-f", pod, "-n", "ml", "--node", "gpu-1", "-o", "env"}));
  expect_answer(run({"explain", "-f", pod}));
  serve(kSpacePath, {{"metadata", {{"name", "ml"}}}});
  expect_answer(run({"explain", "-f", pod}));
  expect_shown(run({"explain", "-f", pod, "-n", "other"}), 4);
}

TEST_F(ExplainPod, APolicyOfAFileIsTriedOnTheTableOfTheClustersNode) {
  const auto explain = [&](const std::string& node) {
    return run({"explain", "-f", pod, "--policy", policy, "--node", node, "-o", "json"});
  };
  serve(kTablePath, object_of(kTable));
  const CliResult known = explain("gpu-1");
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_FALSE(Json::parse(known.out)["ncclWithUs"].is_null());
  serve_none("/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-2");
  EXPECT_EQ(explain("gpu-2").code, 4) << "no such table";
}

TEST_F(ExplainPod, TheManifestsNamespaceBeatsTheContexts) {
  Json own = given_pod("x");
  own["metadata"]["namespace"] = "q";
  const Json list{{"kind", "List"}, {"items", {own, 7}}};
  for (const Json& manifest : {own, list}) {
    EXPECT_NE(run({"explain", "-f", write("q.json", manifest.dump())}).code, 2);
    EXPECT_THAT(asked(), Contains("/api/v1/namespaces/q"));
  }
  const std::string two =
      write("two.yaml",
            "{kind: Pod, metadata: {namespace: a}, spec: {containers: [{name: c, image: i}]}}\n---\n"
            "{kind: Pod, metadata: {namespace: b}, spec: {containers: [{name: c, image: i}]}}\n");
  expect_shown(run({"explain", "-f", two}), 2);
}

TEST_F(ExplainPod, WrongUsageIsCode2) {
  const std::string file = write("pod.json", given_pod("a").dump());
  for (const std::string& more :
       {std::string(), std::string("pod"), std::string("pod/"), std::string("pod/a b"), std::string("pod/A"),
        std::string("pod/a/b"), std::string("pod/.."), std::string("node/a"), std::string("deployment/a"),
        std::string("a"), "pod/a -f " + file, "pod -n ml -f " + file, "pod/a --policy " + policy,
        std::string("pod/a --policy-name p"), "--policy-name p -f " + file, std::string("pod/a --node n"),
        std::string("pod/a --at soon"), std::string("pod/a --nccl-version 1"), std::string("pod/a -n A/b")}) {
    const CliResult result = run_cli(words("explain " + more));
    EXPECT_THAT(result.out, IsEmpty());
    expect_shown(result, 2);
  }
  // A file without a pod is told before a cluster is asked.
  const std::string none = write("policy.json", R"({"kind": "NcclPolicy", "metadata": {"name": "p"}})");
  expect_shown(run({"explain", "-f", none}), 3);
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ExplainPod, TheLabelOfANamespaceKeepsTheInitContainerAwayFromAManifestsPods) {
  Json alone = Json::parse(kPod),
       space = object_of(R"({kind: Namespace, metadata: {name: ml, labels: {nccl-env.io/policy: p}}})");
  alone["spec"]["hostNetwork"] = false;
  serve(kPolicyPath, object_of(kPolicy));
  const std::string file = write("alone.json", alone.dump());
  const auto env = [&] {
    serve(kSpacePath, space);
    return run({"explain", "-f", file, "-o", "env"}).out;
  };
  expect_golden("without the label", env());
  space["metadata"]["labels"]["nccl-env.io/resolve"] = "Binding";
  expect_golden("nccl-env.io/resolve: Binding", env());
}

}  // namespace
}  // namespace nccl_env::explain_pod_test
