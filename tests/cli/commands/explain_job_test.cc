// SPDX-License-Identifier: Apache-2.0
// nccl-env explain job/NAME: which pods are a job's, and what is asked for them. What is told:
// tests/judge/explain/job_test.cc.
#include <algorithm>

#include "cli/asked_cluster.h"
#include "support/golden.h"

namespace nccl_env::explain_job_test {
namespace {

using namespace nccl_env::tests;

const std::string kAllPods = kPodsOfMl + "?limit=500";

class ExplainJob : public AskedCluster {
 protected:
  void serve_none_but(const std::string& selector, const Json& pods) {
    for (const std::string& each : kSelectors) serve(each, list());
    serve(kAllPods, list());
    serve(selector, list(pods));
  }
  static Json worker(int number, const std::string& hcas = "=mlx5_0,mlx5_1") {
    const std::string n = std::to_string(number);
    Json pod = given_pod("train-worker-" + n, "gpu-" + n, hcas);
    pod["metadata"]["labels"] = {{"training.kubeflow.org/replica-type", "worker"},
                                 {"training.kubeflow.org/replica-index", n}};
    return pod;
  }
};

TEST_F(ExplainJob, EachControllersLabelFindsItsPods) {
  for (const std::string& selector : kSelectors) {
    serve_none_but(selector, {worker(0), worker(1)});
    const CliResult result = run({"explain", "job/train"});
    EXPECT_EQ(result.code, 0) << selector << result.err << result.out;
    EXPECT_THAT(result.out, HasSubstr("worker-1")) << selector;
  }
}

TEST_F(ExplainJob, WithoutALabelTheOwnerCounts) {
  Json owned = worker(0);
  owned["metadata"]["ownerReferences"] = {{{"kind", "StatefulSet"}, {"name", "train"}, {"controller", true}}};
  serve_none_but(kAllPods, {owned, worker(1)});
  expect_shown(run({"explain", "job", "train"}));
}

TEST_F(ExplainJob, AnOddRankIsCode1AndTheSentenceNamesIt) {
  serve_none_but(kSelectors[2], {worker(0), worker(1), worker(2, "=mlx5_1"), worker(3)});
  expect_shown(run({"explain", "job/train"}), 1);
  const Json json = Json::parse(run({"explain", "job/train", "-o", "json"}).out);
  EXPECT_EQ(json["findings"][0]["subject"]["parts"][0], "worker-2");
}

TEST_F(ExplainJob, WhatItsLauncherGivesToRanksIsOnTheWorkers) {
  Json launcher = Json::parse(kPod), workers = Json::array({worker(0), worker(1)});
  launcher["metadata"] = {{"name", "train-launcher"}, {"namespace", "ml"}, {"resourceVersion", "1"}};
  launcher["spec"]["containers"][0]["command"] = {"mpirun", "-x", "NCCL_IB_GID_INDEX=1", "train"};
  launcher["spec"]["containers"][0].erase("resources");
  for (Json& each : workers) each["spec"]["containers"][0]["command"] = {"/usr/sbin/sshd", "-De"};
  workers.push_back(launcher);
  serve_none_but(kSelectors[2], workers);
  const CliResult told = run({"explain", "job/train", "-o", "json"});
  EXPECT_THAT(told.out, HasSubstr("NCCL_IB_GID_INDEX=1 is the user's own on 2 ranks")) << told.err;
}

TEST_F(ExplainJob, WhoMayReadNoTableIsNotAskedForEachNode) {
  serve_none_but(kSelectors[2], {worker(0), worker(1), worker(2)});
  expect_shown(run({"explain", "job/train"}));
  const auto requests = asked();
  EXPECT_EQ(
      std::count_if(requests.begin(), requests.end(),
                    [](const std::string& target) { return target.find("nodefabrics") != target.npos; }),
      1);
  EXPECT_EQ(std::count(requests.begin(), requests.end(), "/api/v1/namespaces/ml"), 1);
}

TEST_F(ExplainJob, TablesOfManyNodesAreReadTogether) {
  const std::string tables = "/apis/nccl-env.io/v1alpha1/nodefabrics";
  Json pods = Json::array(), all = Json::array();
  for (int n = 0; n < 30; ++n) {
    const std::string node = "gpu-" + std::to_string(n);
    pods.push_back(worker(n));
    const Json some = object_of(named(kTable, "gpu-1", node));
    serve(tables + "/" + node, some);
    if (n != 29) all.push_back(some);
  }
  serve_none_but(kSelectors[2], pods);
  serve(tables + "?limit=500", list(all));
  EXPECT_EQ(Json::parse(run({"explain", "job/train", "-o", "json"}).out)["ranks"].size(), 30U);
  const auto asked_tables = [&] {
    const auto requests = asked();
    return std::count_if(requests.begin(), requests.end(),
                         [&](const std::string& target) { return target.starts_with(tables); });
  };
  EXPECT_EQ(asked_tables(), 9);  // eight, and the list
}

TEST_F(ExplainJob, TwoObjectsOfOneNameAreTold) {
  serve_none_but(kSelectors[2], Json::array({worker(0)}));
  serve(kSelectors[6], list({worker(1)}));
  expect_shown(run({"explain", "job/train"}));
}

TEST_F(ExplainJob, NothingToTellOfIsRefused) {
  expect_shown(run({"explain", "job/train"}), 4);
  serve_none_but(kAllPods, Json::array());
  expect_shown(run({"explain", "job/train"}), 4);
  serve_text(kSelectors[0], "{\"items\":7}");
  expect_shown(run({"explain", "job/train"}), 4);
  EXPECT_EQ(run({"explain", "job/train", "-o", "env"}).code, 2);
}

TEST_F(ExplainJob, PodsOfTwoNamespacesAndOfAnotherPolicyAreRefused) {
  Json other = worker(1);
  other["metadata"]["namespace"] = "dev";
  const auto file = [this](const Json& second) {
    return write("pods.json", Json{{"kind", "PodList"}, {"items", Json::array({worker(0), second})}}.dump());
  };
  const CliResult two = run_cli({"explain", "job", "-f", file(other)});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("the pods are of several namespaces, dev, ml"));
  const std::string another =
      write("other.yaml",
            "apiVersion: nccl-env.io/v1alpha1\nkind: NcclPolicy\nmetadata: {name: other}\n"
            "spec: {match: {resources: [{name: rdma/hca}]}}\n");
  const CliResult unlike = run_cli({"explain", "job", "-f", file(worker(1)), "--policy", another});
  EXPECT_EQ(unlike.code, 2);
  EXPECT_THAT(unlike.err, HasSubstr("which is not the one given"));
}

TEST_F(ExplainJob, PodsOfAFileNeedNoCluster) {
  Json first = worker(0);
  first["metadata"]["ownerReferences"] = {{{"kind", "PyTorchJob"}, {"name", "resnet"}}};
  const std::string file =
      write("pods.json", Json{{"kind", "PodList"}, {"items", {first, worker(1, "=mlx5_0")}}}.dump());
  expect_shown(run_cli({"explain", "job", "-f", file}), 1);
  Json pods = Json::array({worker(0), worker(1)});
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i]["metadata"]["labels"] = {{"batch.kubernetes.io/job-name", "llama-w-" + std::to_string(i)},
                                     {"jobset.sigs.k8s.io/jobset-name", "llama"}};
  }
  write("pods.json", Json{{"kind", "PodList"}, {"items", pods}}.dump());
  EXPECT_THAT(run_cli({"explain", "job", "-f", file}).out, HasSubstr("ranks of job llama have"))
      << "that of a JobSet, not of a child";
  EXPECT_THAT(asked(), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::explain_job_test
