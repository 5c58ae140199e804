// SPDX-License-Identifier: Apache-2.0
// nccl-env fabric test: what it creates, what it asks for, what it refuses, and that it always cleans up.
#include <csignal>

#include "cli/asked_cluster.h"
#include "cli/installed_objects.h"
#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/proof/lines.h"
#include "support/matchers.h"

namespace nccl_env::fabric_test_test {
namespace {

using namespace nccl_env::tests;

const std::string kJobsPath = "/apis/batch/v1/namespaces/ml/jobs";
const std::string kServicesPath = "/api/v1/namespaces/ml/services";

ProofMember member_at(int place) {
  return {place, "gpu-" + std::to_string(place + 1), {ProofRail{.hca = "mlx5_0"}}};
}

std::string line(const JournalLine& what) {
  return to_line(what) + "\n";
}
const std::string kRoundLine = line({.rounds_done = 1});

class FabricTest : public AskedCluster {
 protected:
  void SetUp() override {
    otherwise = refusal(404, "not found");
    serve("/api/v1/namespaces/ml",
          {{"kind", "Namespace"}, {"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}});
    put_policy(kPolicy);
    put_tables({"gpu-1", "gpu-2"});
    serve(
        "/apis/apps/v1/namespaces/nccl-env-agent/daemonsets/nccl-env-agent",
        {{"spec", {{"template", {{"spec", {{"containers", {{{"image", "registry.example/agent:1"}}}}}}}}}}});
    serve("/api/v1/namespaces/ml/events", list());
    instead = [this](const ScriptedRequest& request) { return answer_of(request); };
    log = line({.expected = 2, .rounds = 1}) + line({.members = {{member_at(0)}}}) +
          line({.members = {{member_at(1)}}}) +
          line({.pairs = {{ProofPair{0, 1, RailsBy::Name, {ProofLink{}}}}}}) + kRoundLine +
          line({.ended = true});
    pods = {pod_at(0, "gpu-1"), pod_at(1, "gpu-2")};
  }
  void put_policy(const std::string& yaml) { serve(kPolicyPath, object_of(yaml)); }
  void put_tables(const std::vector<std::string>& nodes) {
    Json tables = Json::array();
    for (const std::string& node : nodes) tables.push_back(object_of(named(kTable, "gpu-1", node)));
    serve(kTablesPath, list_of_items(tables));
  }
  static Json pod_at(int place, const std::string& node) {
    return {
        {"metadata", {{"name", "t-" + std::to_string(place)}, {"namespace", "ml"}, {"resourceVersion", "1"}}},
        {"spec", {{"nodeName", node}, {"containers", {{{"name", "fabric-test"}}}}}},
        {"status",
         {{"phase", "Running"},
          {"containerStatuses", {{{"name", "fabric-test"}, {"state", {{"running", Json::object()}}}}}}}}};
  }

  // The cluster, as far as a test changes it or asks for what it made.
  std::optional<Answer> answer_of(const ScriptedRequest& request) {
    const std::string target = request.target, path = target.substr(0, target.find('?'));
    const auto refused = refusals.find(request.method + " " + path);
    if (request.method != "GET")
      made.push_back(request.method + " " + path.substr(0, path.rfind("/nccl-env-fabric")));
    if (refused != refusals.end()) return refused->second;
    if (request.method == "DELETE") return refused_delete.value_or(Answer{200, "{}"});
    if (request.method == "POST") {
      Json object = Json::parse(request.body);
      if (target.ends_with("?dryRun=All")) {
        if (gets_values) object["metadata"]["annotations"]["nccl-env.io/status"] = "{}";
      } else {
        object["metadata"]["uid"] = "u1";
        created.push_back(object);
      }
      return Answer{201, object.dump()};
    }
    if (path.ends_with("/log")) {
      if (on_log) on_log();
      if (broken_logs-- > 0) return refusal(500, "the kubelet does not answer");
      return Answer{200, log};
    }
    if (path != kPodsOfMl) return std::nullopt;
    Json some = pods;
    if (target.find("job-completion-index") != target.npos && !some.empty())
      some = Json::array({some.front()});
    return Answer{200, list(some).dump()};
  }
  CliResult test(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"fabric", "test"});
    CliResult result = ask(more);
    // Names and tokens are new each time.
    for (std::string* text : {&result.out, &result.err}) {
      *text = std::regex_replace(*text, std::regex("nccl-env-fabric-[0-9a-f]{6}"), "nccl-env-fabric-NAME");
      *text = std::regex_replace(*text, std::regex("\"?[0-9a-f]{64}\"?"), "TOKEN");
    }
    return result;
  }
  // The Job's pods, but for where they run: ThePlainJob.
  std::string template_of(std::vector<std::string> more) {
    more.emplace_back("--dry-run");
    Json made_of = parse_documents(test(more).out, "test")->front()["spec"]["template"];
    made_of["spec"].erase("affinity");
    return to_yaml(made_of);
  }
  // All that was made is gone.
  void expect_gone() { EXPECT_EQ(made.back(), "DELETE " + kJobsPath); }

  std::string log;
  Json pods;
  bool gets_values = true;
  std::map<std::string, Answer> refusals;  // by method and path
  std::optional<Answer> refused_delete;
  std::function<void()> on_log;
  int broken_logs = 0;
  std::vector<std::string> made;  // what was asked for beside GETs
  std::vector<Json> created;
};

TEST_F(FabricTest, AGoodFabricIsCode0AndNothingIsLeft) {
  expect_shown(test());
  EXPECT_THAT(made, ElementsAre("POST " + kPodsOfMl, "POST " + kJobsPath, "POST " + kServicesPath,
                                "DELETE " + kJobsPath));
  EXPECT_EQ(created[1]["metadata"]["ownerReferences"][0]["uid"], "u1");
  EXPECT_EQ(asked().size(), 10u);  // namespace, policy, tables, agents, five above, member 0's pod, its log
}

// A pod of the policy's only resource, without --like.
TEST_F(FabricTest, ThePlainJob) {
  expect_shown(test({"--dry-run"}));
  EXPECT_THAT(made, IsEmpty());
}

const char* const kMpiJob = R"(
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train, namespace: ml}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: i, command: [mpirun, train]}]}}}
    Worker:
      replicas: 2
      template:
        metadata:
          labels: {app: train, nccl-env.io/inject: "true"}
          annotations: {k8s.v1.cni.cncf.io/networks: "rail-0,rail-1", note: mine}
        spec:
          hostNetwork: false
          serviceAccountName: trainer
          priorityClassName: high
          tolerations: [{key: nvidia.com/gpu, operator: Exists}]
          nodeSelector: {pool: a}
          resourceClaims: [{name: nics, resourceClaimTemplateName: nics}, {name: gpus, resourceClaimTemplateName: gpus}]
          volumes: [{name: shm, emptyDir: {}}, {name: dev, hostPath: {path: /dev/infiniband}}]
          containers:
          - name: worker
            image: train
            command: [/usr/sbin/sshd, -De]
            env: [{name: NCCL_IB_TC, value: "106"}, {name: SECRET, value: x}]
            volumeMounts: [{name: shm, mountPath: /dev/shm}, {name: dev, mountPath: /dev/infiniband}]
            securityContext: {capabilities: {add: [IPC_LOCK]}}
            resources:
              limits: {cpu: 64, memory: 1Ti, nvidia.com/gpu: 8, rdma/hca: 2}
              claims: [{name: nics}, {name: gpus}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: nics, namespace: ml}
spec: {spec: {devices: {requests: [{name: n, exactly: {deviceClassName: nic.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus, namespace: ml}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
)";

TEST_F(FabricTest, AJobsWorkerGivesNetworksDevicesAndRightsButNoGpus) {
  expect_golden("--like job.yaml --all-pairs --cross-rails",
                template_of({"--like", write("job.yaml", kMpiJob), "--all-pairs", "--cross-rails"}));
}

TEST_F(FabricTest, APodGivesAllButWhatTheWebhookAddedToIt) {
  Json train = given_pod("train-0");
  train["spec"]["containers"][0]["env"] = {{{"name", "NCCL_IB_GID_INDEX"}, {"value", "3"}},
                                           {{"name", "NCCL_DEBUG"}, {"value", "INFO"}}};
  train["metadata"]["annotations"]["nccl-env.io/status"] =
      R"({"v":1,"policy":"p","generation":1,"exposure":"Host","containers":{"c":{"set":{"NCCL_IB_GID_INDEX":"Policy"}}}})";
  serve(kPodsOfMl + "/train-0", train);
  expect_golden("--like pod/train-0", template_of({"--like", "pod/train-0"}));
}

TEST_F(FabricTest, WhatNamesNoOneTemplateIsRefusedWithTheLineToType) {
  put_policy(named(kPolicy, "rdma/hca}", "rdma/hca}, {name: rdma/*}"));
  expect_shown(test(), 2);
  put_policy(kPolicy);
  const std::string two = std::string(kMpiJob) + "---\n" +
                          named(named(kMpiJob, "name: train", "name: other"), "pool: a", "pool: b");
  expect_shown(test({"--like", write("two.yaml", two)}), 2);
  expect_shown(test({"--like", write("none.yaml", named(kPod, "rdma/hca", "example.com/x"))}), 3);
  expect_shown(test({"--like", "pod/none"}), 4);
  expect_shown(test({"--wait", "10m"}), 2);
  EXPECT_THAT(made, IsEmpty());
}

TEST_F(FabricTest, WhereNoPodGetsValuesNothingIsCreated) {
  serve("/api/v1/namespaces/ml", {{"kind", "Namespace"}, {"metadata", {{"name", "ml"}}}});
  expect_shown(test(), 3);
  SetUp();
  gets_values = false;
  expect_shown(test(), 3);
  refusals["POST " + kPodsOfMl] =
      refusal(403, "pods \"x\" is forbidden: exceeded quota: q, requested: rdma/hca=1");
  expect_shown(test(), 3);
  EXPECT_THAT(created, IsEmpty());
}

TEST_F(FabricTest, FewerThanTwoNodesAreNoFabric) {
  put_tables({"gpu-1"});
  expect_shown(test(), 3);
  expect_shown(test({"--nodes", "gpu-1,gpu-1"}), 3);
  expect_shown(test({"--nodes", "gpu-1,Not/One"}), 2);
  put_tables({"gpu-1", "gpu-2"});
  serve("/api/v1/nodes", list_of_items({{{"metadata", {{"name", "gpu-2"}}}}}));
  expect_shown(test({"--selector", "pool=b"}), 3);
  EXPECT_THAT(made, IsEmpty());
}

TEST_F(FabricTest, AMissingRightIsCode4AndNamesIt) {
  const auto forbid = [&](const std::string& what) {
    refusals = {{what, refusal(403, "it is forbidden: User \"u\" cannot create resource \"x\"")}};
    made.clear();
  };
  forbid("POST " + kJobsPath);
  expect_shown(test(), 4);
  EXPECT_EQ(made.back(), "POST " + kJobsPath) << "there is nothing to delete";
  forbid("POST " + kServicesPath);
  expect_shown(test(), 4);
  expect_gone();
  forbid("GET " + kPodsOfMl);
  expect_shown(test(), 4);
  expect_gone();
  forbid("GET " + kPodsOfMl + "/t-0/log");
  expect_shown(test(), 4);
  expect_gone();
  // A test of pods beforehand is not needed.
  forbid("POST " + kPodsOfMl);
  EXPECT_EQ(test().code, 0);
}

TEST_F(FabricTest, AJobThatIsStillThereIsTold) {
  refused_delete = refusal(403, "jobs \"x\" is forbidden");
  expect_shown(test());
}

TEST_F(FabricTest, ASignalDeletesTheJob) {
  const pthread_t here = pthread_self();
  on_log = [here] { pthread_kill(here, SIGTERM); };
  log = line({.expected = 2, .rounds = 1});
  expect_shown(test(), 4);
  expect_gone();
}

// tests/cli/fabric/untested_nodes_test.cc has why each did not.
TEST_F(FabricTest, ANodeThatDidNotComeIsAFindingAndSaysWhy) {
  put_tables({"gpu-1", "gpu-2", "gpu-3"});
  serve("/api/v1/namespaces/ml/events",
        list_of_items({{{"metadata", {{"name", "e"}}}, {"message", "Error creating: exceeded quota: q"}}}));
  const Json answer = Json::parse(test({"-o", "json"}).out);
  EXPECT_EQ(
      answer["untested"],
      Json::array({{{"node", "gpu-3"}, {"state", "held"}, {"detail", "Error creating: exceeded quota: q"}}}));
  EXPECT_EQ(test().code, 1);
}

TEST_F(FabricTest, WithoutMember0NothingIsTested) {
  for (Json& each : pods) {
    each["spec"].erase("nodeName");
    each["status"] = {{"conditions",
                       {{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"message", "0/2 nodes are available: 2 Insufficient rdma/hca."}}}}};
  }
  expect_shown(test({"--wait", "1s"}), 3);
  expect_gone();
}

// Its container was killed, or the connection went: what came before counts.
TEST_F(FabricTest, ALogThatEndsEarlyAndStrangeLinesAreTold) {
  log = "a word of a library\n{\"pairs\":1}\n" + log.substr(0, log.find(kRoundLine));
  expect_shown(test(), 1);
  expect_gone();
}

TEST_F(FabricTest, ALogThatBreaksOffIsReadAnew) {
  broken_logs = 2;
  EXPECT_EQ(test().code, 0);
  EXPECT_LT(broken_logs, 0);
}

}  // namespace
}  // namespace nccl_env::fabric_test_test
