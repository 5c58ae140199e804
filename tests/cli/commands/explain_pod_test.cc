// SPDX-License-Identifier: Apache-2.0
// nccl-env explain pod/NAME: what is asked of a cluster, and what without rights. What is told: core's
// pod_answer_test.cc.
#include <gmock/gmock.h>

#include "cli/asked_cluster.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::explain_pod_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kPodPath = "/api/v1/namespaces/ml/pods/train-0";
const std::string kSpacePath = "/api/v1/namespaces/ml";
const std::string kPolicyPath = "/apis/nccl-env.io/v1alpha1/ncclpolicies/p";
const std::string kTablePath = "/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1";

nlohmann::json as_json(const std::string& yaml) {
  return parse_documents(yaml, "test")->front();
}

class ExplainPod : public AskedCluster {
 protected:
  void serve_all() {
    serve(kSpacePath,
          {{"kind", "Namespace"}, {"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}});
    serve(kPolicyPath, as_json(kPolicy));
    serve(kTablePath, as_json(kTable));
  }
};

TEST_F(ExplainPod, WithThePodAloneItTellsTheValuesAndWhichRightsAreMissing) {
  serve(kPodPath, given_pod("train-0"));
  const CliResult result = run({"explain", "pod/train-0"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out,
              AllOf(StartsWith("pod ml/train-0\n  answer    given."), HasSubstr("Node    =mlx5_0\n"),
                    HasSubstr("not allowed: get namespaces ml: whether the namespace is"),
                    HasSubstr("not allowed: get ncclpolicies.nccl-env.io p:"),
                    HasSubstr("not allowed: get nodefabrics.nccl-env.io gpu-1:")));
  EXPECT_THAT(asked(), ElementsAre(kPodPath, kSpacePath, kPolicyPath, kTablePath));
}

TEST_F(ExplainPod, WithAllRightsItTellsNcclsChoiceAndLeavesNothingOut) {
  serve(kPodPath, given_pod("train-0"));
  serve_all();
  const CliResult result = run({"explain", "pod", "train-0", "-n", "ml", "--nccl-version", "2.21.5"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("NCCL 2.21.5 alone\n    HCAs        mlx5_0:1\n"),
                                HasSubstr("NCCL 2.21.5 with these"), Not(HasSubstr("left out"))));
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
  EXPECT_THAT(run({"explain", "pod/train-0"}).out, HasSubstr("answer  not known. Nothing was injected"));
  serve_all();
  const CliResult missed = run({"explain", "pod/train-0"});
  EXPECT_EQ(missed.code, 1);
  EXPECT_THAT(missed.out, HasSubstr("answer  missed at admission. Policy p matches the pod"));
  serve_none(kPolicyPath);
  const CliResult none = run({"explain", "pod/train-0"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, HasSubstr("not injected, PolicyMissing."));
}

TEST_F(ExplainPod, AsEnvAPodWithoutAStatusIsAComment) {
  Json object = Json::parse(kPod);
  object["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  serve(kPodPath, object);
  EXPECT_EQ(run({"explain", "pod/train-0", "-o", "env"}).out, "# not injected\n");
}

TEST_F(ExplainPod, APendingPodsEventTellsWhoHoldsIt) {
  Json object = given_pod("train-0");
  object["spec"].erase("nodeName");
  for (const char* key :
       {"nccl-env.io/node", "host.nccl-env.io/NCCL_IB_HCA", "host.nccl-env.io/NCCL_IB_GID_INDEX"})
    object["metadata"]["annotations"].erase(key);
  serve(kPodPath, object);
  serve(
      "/api/v1/namespaces/ml/events?fieldSelector=involvedObject.name%3Dtrain-0%2Creason%3DFailedScheduling"
      "&limit=500",
      {{"metadata", {{"resourceVersion", "1"}}},
       {"items",
        {{{"metadata", {{"name", "e"}, {"resourceVersion", "1"}}},
          {"message", "admission webhook \"binding.nccl-env.io\" denied the request: NoTable"}}}}});
  const CliResult result = run({"explain", "pod/train-0"});
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr("onUnresolved:\n            Deny. NoTable\n"));
}

TEST_F(ExplainPod, ThePodItselfHasToBeReadable) {
  const CliResult forbidden = run({"explain", "pod/train-0"});
  EXPECT_EQ(forbidden.code, 4);
  EXPECT_EQ(forbidden.err, "nccl-env: not allowed: get pods ml/train-0\n");
  EXPECT_THAT(forbidden.out, IsEmpty());
  serve_none(kPodPath);
  EXPECT_THAT(run({"explain", "pod/train-0"}).err, HasSubstr("get pods ml/train-0: there is none"));
  for (const std::string text :
       {"[]", "{", "{}", "{\"metadata\":7}", "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}"}) {
    serve_text(kPodPath, text);
    const CliResult bad = run({"explain", "pod/train-0"});
    EXPECT_EQ(bad.code, 4) << text;
    EXPECT_THAT(bad.out, IsEmpty()) << text;
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
    EXPECT_THAT(run({"explain", "pod/train-0"}).out, HasSubstr("NcclPolicy p was refused")) << text;
  }
}

TEST_F(ExplainPod, TheContextChoosesNamespaceAndIsChecked) {
  serve("/api/v1/namespaces/elsewhere/pods/train-0", given_pod("train-0"));
  EXPECT_EQ(run({"explain", "pod/train-0", "--context", "other"}).code, 0);
  EXPECT_EQ(run({"explain", "pod/train-0", "--context", "none"}).err,
            "nccl-env: kubectl: cannot locate context none\n");
}

TEST_F(ExplainPod, PodsOfAFileNeedNoCluster) {
  const Json list{{"kind", "List"}, {"items", {given_pod("train-0"), given_pod("train-1")}}};
  const std::string file = write("pods.json", list.dump());
  const std::string moment = "2026-11-20T08:00:00Z";
  const CliResult result =
      run_cli({"explain", "pod", "-f", file, "--policy", policy, "--table", table, "--at", moment});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("pod ml/train-0\n"), HasSubstr("\n\npod ml/train-1\n"),
                                HasSubstr("alone"), Not(HasSubstr("left out"))));
  EXPECT_THAT(run_cli({"explain", "pod", "-f", file}).out, HasSubstr("No policy is given (--policy)"));
  EXPECT_THAT(Json::parse(run_cli({"explain", "pod", "-f", file, "-o", "json"}).out), SizeIs(2));
  EXPECT_THAT(run_cli({"explain", "pod", "-f", file, "-o", "env"}).out,
              StartsWith("# pod ml/train-0\nNCCL_IB_HCA==mlx5_0\nNCCL_IB_GID_INDEX=3\n# pod"));
  EXPECT_THAT(run_cli({"explain", "pod", "-f", policy}).err, HasSubstr("holds something that is not a Pod"));
  const std::string twice =
      "kind: Pod\nmetadata: {uid: u, name: first, name: last}\nspec: {containers: [{name: c}]}\n";
  const CliResult last = run_cli({"explain", "pod", "-f", write("twice.yaml", twice)});
  EXPECT_THAT(last.err, HasSubstr("twice.yaml:2: the key \"name\" stands twice"));
  EXPECT_THAT(last.out, HasSubstr("last"));
  EXPECT_THAT(run_cli({"explain", "pod", "-f", write("l.json", R"({"kind":"List","items":[]})")}).err,
              HasSubstr("holds no pod"));
}

TEST_F(ExplainPod, AManifestThatNobodyCreatedHasItsOwnCommand) {
  const CliResult result = run_cli({"explain", "pod", "-f", pod, "--policy", policy});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("holds a manifest"), HasSubstr("nccl-env explain -f " + pod)));
  for (const char* sign : {R"({"uid":"u"})", R"({"creationTimestamp":"2026-11-20T08:00:00Z"})"}) {
    Json object = Json::parse(kPod);
    object["metadata"].update(Json::parse(sign));
    EXPECT_EQ(run_cli({"explain", "pod", "-f", write("made.json", object.dump())}).code, 0) << sign;
  }
}

TEST_F(ExplainPod, AManifestTakesThePolicyOfItsNamespaceAndTheTableOfItsNode) {
  serve_all();
  const CliResult result = run({"explain", "-f", pod, "-n", "ml", "--node", "gpu-1", "-o", "env"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_0\nNCCL_IB_GID_INDEX=3\n");
  EXPECT_THAT(run({"explain", "--pod", pod}).out, HasSubstr("(known once the node is)"));
  serve(kSpacePath, {{"metadata", {{"name", "ml"}}}});
  const CliResult skipped = run({"explain", "-f", pod});
  EXPECT_EQ(skipped.code, 0);
  EXPECT_THAT(skipped.out, HasSubstr("skip, NamespaceNotOptedIn: Namespace ml has no label"));
  EXPECT_THAT(run({"explain", "-f", pod, "-n", "other"}).err,
              AllOf(HasSubstr("not allowed: get namespaces other"),
                    HasSubstr("give the policy's file with --policy")));
}

TEST_F(ExplainPod, TheManifestsNamespaceBeatsTheContexts) {
  const std::string file =
      write("q.json", R"({"kind":"Pod","metadata":{"name":"x","namespace":"q"},"spec":{"containers":[]}})");
  EXPECT_THAT(run({"explain", "-f", file}).err, HasSubstr("get namespaces q"));
  EXPECT_THAT(run({"explain", "-f",
                   write("list.json",
                         Json{{"kind", "List"},
                              {"items", {Json::parse(R"({"kind":"Pod","metadata":{"namespace":"r"}})"), 7}}}
                             .dump())})
                  .err,
              HasSubstr("get namespaces r"));
  const std::string two = write(
      "two.yaml", "{kind: Pod, metadata: {namespace: a}}\n---\n{kind: Pod, metadata: {namespace: b}}\n");
  const CliResult several = run({"explain", "-f", two});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, HasSubstr("choose with -n: a, b"));
}

TEST_F(ExplainPod, WrongUsageIsCode2) {
  const std::string file = write("pod.json", given_pod("a").dump());
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{},
                                             {"pod"},
                                             {"pod/"},
                                             {"pod/a", "b"},
                                             {"pod/A"},
                                             {"pod/a/b"},
                                             {"pod/.."},
                                             {"node/a"},
                                             {"a"},
                                             {"pod", "a", "b"},
                                             {"pod/a", "-f", file},
                                             {"pod", "-f", file, "-n", "ml"},
                                             {"pod/a", "--policy", policy},
                                             {"pod/a", "--policy-name", "p"},
                                             {"-f", file, "--policy-name", "p"},
                                             {"pod/a", "--node", "n"},
                                             {"pod/a", "--review", file},
                                             {"pod/a", "--at", "soon"},
                                             {"pod/a", "--nccl-version", "1"},
                                             {"pod/a", "-n", "A/b"}}) {
    std::vector<std::string> arguments{"explain"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, 2) << ::testing::PrintToString(more) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ExplainPod, TheLabelOfANamespaceKeepsTheInitContainerAwayFromAManifestsPods) {
  Json alone = Json::parse(kPod),
       space = as_json(R"({kind: Namespace, metadata: {name: ml, labels: {nccl-env.io/policy: p}}})");
  alone["spec"]["hostNetwork"] = false;
  serve(kPolicyPath, as_json(kPolicy));
  const std::string file = write("alone.json", alone.dump());
  const auto env = [&] {
    serve(kSpacePath, space);
    return run({"explain", "-f", file, "--resolver-image", "agent:1", "-o", "env"}).out;
  };
  EXPECT_THAT(env(), HasSubstr("# NCCL_IB_HCA is found at container start\n"));
  space["metadata"]["labels"]["nccl-env.io/resolve"] = "Binding";
  EXPECT_THAT(env(), Not(HasSubstr("container start")));
}

}  // namespace
}  // namespace nccl_env::explain_pod_test
