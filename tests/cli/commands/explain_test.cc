// SPDX-License-Identifier: Apache-2.0
// explain: which pod, which node, which policy, and the forms of the answer.
#include <algorithm>

#include "cli/cli_inputs.h"
#include "nccl_env/core/decide/node_values.h"
#include "support/golden.h"

namespace nccl_env::explain_test {
namespace {

using namespace nccl_env::tests;

class CliExplain : public Cli {};

TEST_F(CliExplain, ExplainTakesTheOnlyTablesNode) {
  const Json json = explain_json({"--table", table});
  EXPECT_EQ(json["node"], "gpu-1");
  EXPECT_EQ(json["object"], "Pod/train");
  EXPECT_EQ(json["containers"][0]["file"]["lines"][0],
            Json({{"name", "NCCL_IB_GID_INDEX"}, {"value", "3"}, {"source", "File"}, {"counts", true}}));
  EXPECT_EQ(json["ncclWithUs"]["gidIndex"], Json({{"mlx5_0:1", 3}}));
  EXPECT_FALSE(json["containers"][0]["omitted"][0]["remedy"].get<std::string>().empty());
  expect_golden("sentence", json["sentence"].get<std::string>());
  expect_shown(explain({"--table", table}));
  EXPECT_EQ(explain({"--table", table, "-o", "env"}).out,
            "# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_0\n");
}

TEST_F(CliExplain, OfSeveralTablesTheNodeIsNamedByThePodOrTheCommandLine) {
  const std::string both = write("both.yaml", kTable + "---" + named(kTable, "gpu-1", "gpu-2"));
  expect_shown(explain({"--table", both}), 2);
  EXPECT_EQ(explain_json({"--table", both, "--node", "gpu-2"})["node"], "gpu-2");
  expect_shown(explain({"--table", table, write("again.yaml", kTable)}), 4);
  expect_shown(explain({"--table", table, "--node", "gpu-9"}), 2);
  write("pod.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"gpu-1\", \"hostNetwork\""));
  EXPECT_EQ(explain_json({"--table", table, "--node", "gpu-9"})["node"], "gpu-1") << "its own";
}

TEST_F(CliExplain, APodIsNamedAfterItsManifestAndAReviewByItsObject) {
  write("pod.yaml", named(kPod, "\"name\": \"train\"", "\"generateName\": \"train-\""));
  EXPECT_EQ(explain_json()["object"], "Pod/train-");
  const std::string review =
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": )";
  write("pod.yaml", review + R"({"uid": "u", "object": )" + kPod + R"(, "oldObject": )" + kPod + "}}");
  EXPECT_EQ(explain_json()["template"], "request.object");
}

TEST_F(CliExplain, AFileWithoutAPodIsToldWhatItHolds) {
  const std::pair<std::string, int> files[] = {
      {R"({"kind": "ConfigMap", "data": {"a": "b"}})", 3},
      {"", 3},
      {"---\n", 3},
      {"kind: List\nitems: []\n", 3},
      {"{kind: Service, metadata: {name: llama}}\n---\n" + kPod + "\n---\nkind: ConfigMap\n", 0},
      {"kind: Pod\nmetadata: {name: {{ .Release.Name }}-0}\nspec: {containers: [{name: c}]}\n", 4},
      // Containers that stand beside a spec.
      {"kind: Pod\nmetadata:\n  name: a\n  containers: [{name: c, image: x}]\n", 4},
      {"kind: Job\nmetadata: {name: a}\nspec: {template: {containers: [{name: c, image: x}]}}\n", 4}};
  for (const auto& [text, code] : files) {
    write("pod.yaml", text);
    expect_shown(explain(), code);
  }
}

TEST_F(CliExplain, ATargetWithoutItsKindIsTakenForAPod) {
  expect_shown(run_cli({"explain", "train-0"}), 2);
  expect_shown(run_cli({"explain", "Train"}), 2);
  expect_shown(run_cli({"explain", "-f", pod, "pod/train"}), 2);
}

TEST_F(CliExplain, JsonSteersNoTerminal) {
  const std::string name = "c\xc2\x9b\xe2\x80\xae\xe2\x81\xa6";
  write("pod.yaml", named(kPod, "\"name\": \"c\"", "\"name\": \"" + name + "\""));
  const std::string out = explain({"--table", table, "-o", "json"}).out;
  EXPECT_TRUE(std::ranges::all_of(out, [](char c) { return c == '\n' || (c >= ' ' && c != '\x7f'); })) << out;
  EXPECT_EQ(Json::parse(out)["containers"][0]["name"], name);
}

TEST_F(CliExplain, OfSeveralPodsThoseToActOnStandFirst) {
  const std::string wrong =
      named(named(kPod, "train", "other"), "\"name\": \"c\"",
            "\"name\": \"c\", \"env\": [{\"name\": \"NCCL_IB_HCA\", \"value\": \"mlx5_9\"}]");
  write("pod.yaml", kPod + "\n---\n" + wrong);
  const CliResult both = explain({"--table", table});
  EXPECT_EQ(both.code, 1);
  tests::expect_golden("the first lines", both.out.substr(0, both.out.find("\n\n")));
  write("pod.yaml", kPod + "\n---\n" + kPod);
  EXPECT_THAT(explain({"--table", table}).out, StartsWith("All 2 templates get values."));
  const std::string off =
      named(kPod, "\"name\": \"c\"", R"("name": "c", "env": [{"name": "NCCL_IB_DISABLE", "value": "1"}])");
  write("pod.yaml", kPod + "\n---\n" + named(off, "train", "other"));
  EXPECT_THAT(explain({"--table", table}).out,
              StartsWith("Values for Pod/train; none for Pod/other. But Pod/other: NCCL_IB_DISABLE=1"));
  const std::string without = named(named(kPod, "train", "other"), "rdma/hca", "example.org/gpu");
  write("pod.yaml", without + "\n---\n" + kPod);
  EXPECT_THAT(explain({"--table", table}).out,
              StartsWith("Values for Pod/train; none for Pod/other: no RDMA device is asked for,"));
}

TEST_F(CliExplain, PodsOfOneJobAreComparedByItsLabel) {
  const std::string odd = named(named(kPod, "train", "other"), "\"name\": \"c\"",
                                "\"name\": \"c\", \"env\": [{\"name\": \"NCCL_ALGO\", \"value\": \"Ring\"}]");
  write("pod.yaml", kPod + "\n---\n" + odd);
  EXPECT_THAT(explain({"--table", table}).out, StartsWith("All 2 templates"));  // they may be of two jobs
  const auto labelled = [](const std::string& text) {
    return named(text, "\"metadata\": {", R"("metadata": {"labels": {"job-name": "j"}, )");
  };
  write("pod.yaml", labelled(kPod) + "\n---\n" + labelled(odd));
  EXPECT_THAT(explain({"--table", table}).out,
              StartsWith("1 of 2 templates to act on: Pod/other: It has NCCL_ALGO Ring"));
}

TEST_F(CliExplain, TheMomentDecidesWhetherATableIsStale) {
  const std::string old =
      write("old.yaml", named(kTable, "observed:\n", "observed:\n  time: \"2026-11-20T08:00:00Z\"\n"));
  const Json fresh = explain_json({"--table", old, "--at", "2026-11-20T09:00:00Z"});
  EXPECT_EQ(fresh["containers"][0]["file"]["lines"][0]["source"], "File");
  const Json stale = explain_json({"--table", old, "--at", "2026-11-20T12:00:00Z"}, 1);
  EXPECT_EQ(stale["containers"][0]["omitted"][0]["reason"], "StaleTable");
}

TEST_F(CliExplain, ANodeWithoutItsTableIsNoBinding) {
  write("pod.yaml",
        "kind: Pod\nmetadata: {name: t}\nspec: {nodeName: gpu-7, containers: [{name: c, resources: "
        "{limits: {rdma/hca: 1}}}]}\n");
  const std::string told = explain({"--no-resolver"}).out;
  EXPECT_THAT(told, HasSubstr("known with the table of gpu-7"));
  EXPECT_THAT(told, HasSubstr("node      gpu-7"));
  EXPECT_THAT(told, Not(HasSubstr("has no text"))) << "nothing was bound";
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
  EXPECT_EQ(json[1]["state"], "given");
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
  const Json json = explain_json({}, 1);
  EXPECT_EQ(json["reason"], "NotRdma");
  EXPECT_EQ(json["asksFor"]["resources"], Json::array({"nvidia.com/gpu", "rdma/other"}));
  EXPECT_EQ(json["asksFor"]["claims"], Json::array({"nics: ResourceClaimTemplate ml/rdma"}));
  EXPECT_EQ(json["asksFor"]["networks"], Json::array({"ml/rail-0"}));
  EXPECT_EQ(json["asksFor"]["devices"], Json::array({"/dev/infiniband"}));
  expect_shown(explain(), 1);
}

TEST_F(CliExplain, TheWebhooksImageDecidesWhetherThePodLooksForItself) {
  write("p.yaml", named(kPolicy, "name: rdma/hca", "name: rdma/hca, exposure: PodOwned"));
  write("pod.yaml", named(kPod, "\"hostNetwork\": true, ", ""));
  expect_answer(explain({"--table", table}));
  const Json json = explain_json({"--table", table});
  EXPECT_EQ(json["containers"][0]["file"]["lines"][0]["source"], "Pod");
  expect_shown(explain({"-o", "env"}));
}

// One launcher and one worker: several pods, of which NCCL uses the network, if the launcher is a rank, too.
TEST_F(CliExplain, ALauncherThatIsARankCounts) {
  const std::string role =
      R"({"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}})";
  for (const bool works : {true, false}) {
    write("pod.yaml", R"({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "t"},
    "spec": {"runLauncherAsWorker": )" +
                          std::string(works ? "true" : "false") + R"(, "mpiReplicaSpecs": {"Launcher": )" +
                          role + R"(, "Worker": )" + role + "}}}");
    EXPECT_EQ(explain().code, works ? 1 : 0) << explain().out;
  }
}

TEST_F(CliExplain, SeveralPoliciesNeedANameAndARefusedOneExplainsNothing) {
  write("p.yaml", kPolicy + "---" + named(kPolicy, "name: p}", "name: q}"));
  expect_shown(explain(), 2);
  EXPECT_EQ(explain_json({"--policy-name", "q"})["policy"], "q");
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n");
  expect_shown(explain(), 4);
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
  const auto explained = [&](std::vector<std::string> more, const std::string& pods) {
    more.insert(more.begin(), {"explain", "--policy", policy_file, "-f", write("pods.yaml", pods)});
    return run_cli(more);
  };
  const std::string both = claims + "\n---\n" + claiming, file = write("claims.yaml", claims);
  expect_answer(explained({}, claiming));
  expect_shown(explained({"--claims", file}, claiming));
  expect_answer(explained({}, both));
  expect_shown(explained({"--claims", file}, both), 4);
  expect_shown(explained({"--claims", policy_file}, claiming), 4);
  EXPECT_EQ(explained({"--claims", "/nowhere"}, claiming).code, 4);
}

}  // namespace
}  // namespace nccl_env::explain_test
