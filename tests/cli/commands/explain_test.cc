// SPDX-License-Identifier: Apache-2.0
// explain: which pod, which node, which policy, and the forms of the answer.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"
#include "nccl_env/core/decide/node_values.h"

namespace nccl_env::explain_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CliExplain : public Cli {};

TEST_F(CliExplain, ExplainTakesTheOnlyTablesNode) {
  const Json json = explain_json({"--table", table});
  EXPECT_EQ(json["node"], "gpu-1");
  EXPECT_EQ(json["object"], "Pod/train");
  EXPECT_EQ(json["containers"][0]["conf"][0],
            Json({{"name", "NCCL_IB_HCA"}, {"value", "=mlx5_0"}, {"source", "Node"}}));
  EXPECT_EQ(json["ncclWithUs"]["gidIndex"], Json({{"mlx5_0:1", 3}}));
}

TEST_F(CliExplain, ExplainWithoutATableLeavesNodeValuesToBinding) {
  const Json json = explain_json();
  EXPECT_TRUE(json["node"].is_null());
  EXPECT_EQ(json["containers"][0]["conf"][0],
            Json({{"name", "NCCL_IB_HCA"}, {"value", nullptr}, {"source", "Binding"}}));
}

TEST_F(CliExplain, SeveralTablesNeedANode) {
  const std::string both = write("both.yaml", kTable + "---" + named(kTable, "gpu-1", "gpu-2"));
  const CliResult none = explain({"--table", both});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("gpu-1, gpu-2"));
  EXPECT_EQ(explain_json({"--table", both, "--node", "gpu-2"})["node"], "gpu-2");
}

TEST_F(CliExplain, TheSameNodeInTwoFilesIsRefused) {
  const CliResult result = explain({"--table", table, write("again.yaml", kTable)});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("gpu-1 is given twice"));
}

TEST_F(CliExplain, ThePodsOwnNodeBeatsTheCommandLine) {
  write("pod.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"gpu-1\", \"hostNetwork\""));
  EXPECT_EQ(explain_json({"--table", table, "--node", "gpu-9"})["node"], "gpu-1");
}

TEST_F(CliExplain, ATargetWithoutItsKindIsTakenForAPod) {
  EXPECT_THAT(run_cli({"explain", "train-0"}).err, HasSubstr("do you mean pod/train-0?"));
  EXPECT_THAT(run_cli({"explain", "Train"}).err, Not(HasSubstr("do you mean")));
  EXPECT_THAT(run_cli({"explain", "-f", pod, "pod/train"}).err,
              HasSubstr("is read from the cluster, without -f"));
}

TEST_F(CliExplain, ANodeWithoutATableIsNoTable) {
  const Json json = explain_json({"--table", table, "--node", "gpu-9"});
  EXPECT_EQ(json["containers"][0]["omitted"][0]["reason"], "NoTable");
  EXPECT_TRUE(json["ncclAlone"].is_null());
}

TEST_F(CliExplain, TheMomentDecidesWhetherATableIsStale) {
  const std::string old =
      write("old.yaml", named(kTable, "observed:\n", "observed:\n  time: \"2026-11-20T08:00:00Z\"\n"));
  const Json fresh = explain_json({"--table", old, "--at", "2026-11-20T09:00:00Z"});
  EXPECT_EQ(fresh["containers"][0]["conf"][0]["source"], "Node");
  const Json stale = explain_json({"--table", old, "--at", "2026-11-20T12:00:00Z"});
  EXPECT_EQ(stale["containers"][0]["omitted"][0]["reason"], "StaleTable");
}

TEST_F(CliExplain, ExplainReadsARecordedReview) {
  write(
      "pod.yaml",
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "object": )" +
          kPod + R"(, "oldObject": )" + kPod + "}}");
  EXPECT_EQ(explain_json()["template"], "request.object");
}

TEST_F(CliExplain, SeveralTemplatesGiveAList) {
  write("pod.yaml", R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  replicatedJobs:
  - {name: a, template: {spec: {template: {spec: {containers: [{name: c}]}}}}}
  - {name: b, template: {spec: {template: {spec: {containers: [{name: c, resources: {limits: {rdma/hca: 1}}}]}}}}}
)");
  const Json json = explain_json();
  ASSERT_THAT(json, SizeIs(2));
  EXPECT_EQ(json[0]["object"], "JobSet/js");
  EXPECT_EQ(json[0]["template"], "spec.replicatedJobs[0].template.spec.template");
  EXPECT_EQ(json[0]["reason"], "NotRdma");
  EXPECT_EQ(json[1]["decision"], "inject");
}

TEST_F(CliExplain, AnObjectWithoutPodsIsRefused) {
  write("pod.yaml", R"({"kind": "ConfigMap", "data": {"a": "b"}})");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("nothing in it has containers (ConfigMap)"));
}

TEST_F(CliExplain, WhatIsPassedOverIsNamed) {
  write("pod.yaml", "{kind: Service, metadata: {name: llama}}\n---\n" + kPod + "\n---\nkind: ConfigMap\n");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("passed over, as nothing in them has containers: Service/llama, ConfigMap\n"));
}

TEST_F(CliExplain, ATemplateHasToBeRenderedFirst) {
  write("pod.yaml", "kind: Pod\nmetadata: {name: {{ .Release.Name }}-0}\nspec: {containers: [{name: c}]}\n");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("a template: render it first"));
  write("pod.yaml",
        "kind: Pod\nmetadata: {name: t}\nspec: {containers: [{name: c, image: \"{{ .image }}\"}]}\n");
  const CliResult quoted = explain();
  EXPECT_EQ(quoted.code, 0);
  EXPECT_THAT(quoted.err, HasSubstr("render it first: Pod/t"));
}

TEST_F(CliExplain, OfARepeatedKeyTheLastCountsAsForKubectl) {
  write("pod.yaml",
        "kind: Pod\nmetadata: {name: t}\nspec:\n  nodeName: gpu-9\n  nodeName: gpu-1\n  containers: [{name: "
        "c}]\n");
  const CliResult result = explain({"--table", table, "-o", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["node"], "gpu-1");
  EXPECT_THAT(result.err,
              HasSubstr("pod.yaml:5: the key \"nodeName\" stands twice in one object; the last one counts"));
}

TEST_F(CliExplain, APodThatAsksForNothingKnownIsToldWhatItAsksFor) {
  write("pod.yaml", R"(
kind: Pod
metadata: {name: t, namespace: ml, annotations: {k8s.v1.cni.cncf.io/networks: rail-0}}
spec:
  resourceClaims: [{name: nics, resourceClaimTemplateName: rdma}]
  volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]
  containers:
  - {name: c, resources: {limits: {nvidia.com/gpu: 8, rdma/other: 1}, claims: [{name: nics}]}}
)");
  const Json json = explain_json();
  EXPECT_EQ(json["reason"], "NotRdma");
  EXPECT_EQ(json["asksFor"]["resources"], Json::array({"nvidia.com/gpu", "rdma/other"}));
  EXPECT_EQ(json["asksFor"]["claims"], Json::array({"nics: ResourceClaimTemplate ml/rdma"}));
  EXPECT_EQ(json["asksFor"]["networks"], Json::array({"ml/rail-0"}));
  EXPECT_EQ(json["asksFor"]["devices"], Json::array({"/dev/infiniband"}));
  EXPECT_THAT(explain().out, HasSubstr("  asks for  nvidia.com/gpu, rdma/other; claims nics: "));
}

TEST_F(CliExplain, ARemedyStandsBesideItsReason) {
  const Json json = explain_json({"--table", table});
  EXPECT_FALSE(json["containers"][0]["omitted"][0]["remedy"].get<std::string>().empty());
  EXPECT_EQ(json["sentence"],
            "inject, 2 variables: 1 HCA, GID index 3; left out: NCCL_SOCKET_IFNAME (OmittedByPolicy)");
  EXPECT_THAT(explain({"--table", table}).out, HasSubstr("Change the policy if the variable is wanted."));
}

TEST_F(CliExplain, APodWithAFieldOfTheWrongTypeIsRefusedWithItsPath) {
  write("pod.yaml", R"({"kind": "Pod", "spec": {"containers": [{"name": 7}]}})");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("spec.containers[0].name"));
}

TEST_F(CliExplain, EndlessNestingIsNoPod) {
  std::string nested = R"({"kind": "Pod", "spec": {"containers": []}})";
  for (int i = 0; i < 40; ++i) nested = R"({"a": )" + nested + "}";
  write("pod.yaml", nested);
  EXPECT_EQ(explain().code, 4);
}

TEST_F(CliExplain, ExplainPrintsEnvLines) {
  EXPECT_EQ(explain({"--table", table, "-o", "env"}).out,
            "# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_0\nNCCL_IB_GID_INDEX=3\n");
}

TEST_F(CliExplain, ExplainPrintsTextForPeople) {
  const CliResult result = explain({"--table", table});
  EXPECT_THAT(result.out, StartsWith("Pod/train\n"
                                     "  answer    inject, 2 variables: 1 HCA, GID index 3; left out:\n"
                                     "            NCCL_SOCKET_IFNAME (OmittedByPolicy)\n"
                                     "  policy    p\n  exposure  Host\n  node      gpu-1\n"));
}

TEST_F(CliExplain, TheWebhooksImageDecidesWhetherThePodLooksForItself) {
  write("p.yaml", named(kPolicy, "name: rdma/hca", "name: rdma/hca, exposure: PodOwned"));
  write("pod.yaml", named(kPod, "\"hostNetwork\": true, ", ""));
  EXPECT_THAT(explain({"--table", table}).out, HasSubstr("--resolver-image"));
  const Json json = explain_json({"--table", table, "--resolver-image", "agent:1"});
  EXPECT_EQ(json["containers"][0]["conf"][0]["source"], "Pod");
  const CliResult env = explain({"--resolver-image", "agent:1", "-o", "env"});
  EXPECT_THAT(env.out, HasSubstr("# NCCL_IB_HCA is found at container start\n"));
  EXPECT_EQ(explain({"--resolver-image", "agent@sha256:0"}).code, 2);
}

TEST_F(CliExplain, SeveralPoliciesNeedAName) {
  write("p.yaml", kPolicy + "---" + named(kPolicy, "name: p}", "name: q}"));
  const CliResult none = explain();
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("p, q"));
  EXPECT_EQ(explain_json({"--policy-name", "q"})["policy"], "q");
}

TEST_F(CliExplain, ARefusedPolicyExplainsNothing) {
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("NCCL_IB_TIMEOUT"));
}

TEST_F(CliExplain, NothingThatATerminalWouldObeyGetsThrough) {
  write("pod.yaml", named(kPod, "\"name\": \"c\"", "\"name\": \"c\\u001b[31m\""));
  EXPECT_EQ(explain({"--table", table}).out.find('\x1b'), std::string::npos);
}

TEST_F(CliExplain, AGeneratedNameStandsForThePod) {
  write("pod.yaml", named(kPod, "\"name\": \"train\"", "\"generateName\": \"train-\""));
  EXPECT_EQ(explain_json()["object"], "Pod/train-");
}

TEST_F(CliExplain, MoreTemplatesThanAFileMayHoldAreRefusedNotCut) {
  std::string many = R"({"items": [)";
  for (int i = 0; i < 1001; ++i) many += (i > 0 ? "," : "") + kPod;
  write("pod.yaml", many + "]}");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
}

TEST_F(CliExplain, ClaimsComeFromTheirOwnFilesOrThePodsFile) {
  const std::string policy_file =
      write("policy.yaml", R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy",
    "metadata": {"name": "dra"}, "spec": {"match": {"deviceClasses": ["mrdma.google.com"]}}})");
  const std::string claims =
      R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata":
    {"name": "nics"}, "spec": {"spec": {"devices": {"requests": [
      {"name": "nic", "exactly": {"deviceClassName": "mrdma.google.com"}}]}}}})";
  const std::string claiming = R"({"kind": "Pod", "metadata": {"name": "train"}, "spec": {"resourceClaims":
    [{"name": "net", "resourceClaimTemplateName": "nics"}], "containers": [{"name": "c", "resources": {"claims":
      [{"name": "net"}]}}]}})";
  const auto explained = [&](const std::vector<std::string>& more, const std::string& pods) {
    std::vector<std::string> arguments{"explain", "--policy", policy_file, "--pod", write("pods.yaml", pods)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_cli(arguments);
  };
  EXPECT_THAT(explained({}, claiming).out, HasSubstr("ClaimUnknown"));
  EXPECT_THAT(explained({}, claiming).out, HasSubstr("ResourceClaimTemplate nics is in none of the files"));
  EXPECT_THAT(explained({"--claims", write("claims.yaml", claims)}, claiming).out, HasSubstr("PodOwned"));
  EXPECT_THAT(explained({}, claims + "\n---\n" + claiming).out, HasSubstr("PodOwned"));
  const CliResult twice =
      explained({"--claims", write("claims.yaml", claims)}, claims + "\n---\n" + claiming);
  EXPECT_EQ(twice.code, 4);
  EXPECT_THAT(twice.err, HasSubstr("ResourceClaimTemplate nics is given twice"));
  const CliResult none = explained({"--claims", policy_file}, claiming);
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("holds neither a ResourceClaim nor a ResourceClaimTemplate"));
  EXPECT_EQ(explained({"--claims", "/nowhere"}, claiming).code, 4);
}

TEST_F(CliExplain, ATemplatesNetworksAreOfItsObjectsNamespace) {
  const std::string policy_file =
      write("policy.yaml", R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy",
    "metadata": {"name": "nets"}, "spec": {"match": {"networks": [{"name": "ml/rail-*", "exposure": "SubInterface"}]}}})");
  const std::string deployment =
      write("pods.yaml", R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata":
    {"name": "d", "namespace": "ml"}, "spec": {"template": {"metadata": {"annotations":
      {"k8s.v1.cni.cncf.io/networks": "rail-0"}}, "spec": {"containers": [{"name": "c"}]}}}})");
  EXPECT_THAT(run_cli({"explain", "--policy", policy_file, "--pod", deployment}).out,
              HasSubstr("SubInterface"));
}

}  // namespace
}  // namespace nccl_env::explain_test
