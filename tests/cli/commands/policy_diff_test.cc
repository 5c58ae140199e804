// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli/asked_cluster.h"
#include "cli/fleet.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::policy_diff_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;

const std::string kFour = named(kPolicy, "spec:\n", "spec:\n  fabric: {expectPorts: 4}\n");
const std::string kMail = "---\n" + named(kPod, "train", "mail");

class PolicyDiff : public Fleet {
 protected:
  const std::string four = write("four.yaml", kFour);

  [[nodiscard]] CliResult diff(std::vector<std::string> more) const {
    more.insert(more.begin(), {"policy", "diff"});
    return run_cli(more);
  }
  [[nodiscard]] CliResult diff_fleet(const std::string& changed, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {four, write("new.yaml", changed), "--table", path("fleet")});
    return diff(more);
  }
};

TEST_F(PolicyDiff, TheSamePolicyChangesNothing) {
  expect_shown(diff_fleet(kFour, {"-f", pod}));
  EXPECT_EQ(Json::parse(diff_fleet(kFour, {"-o", "json"}).out)["good"], true);
}

TEST_F(PolicyDiff, EqualChangesOfNodesAndPodsAreToldOnce) {
  write("fleet/b.yaml", named(node_yaml("gpu-11", 11), "{index: 3,", "{index: 5,"));
  const std::string other = named(
      kPolicy, "spec:\n", "spec:\n  fabric: {hcas: [\"mlx5_[1-2]\"]}\n  env: {NCCL_IB_TIMEOUT: \"22\"}\n");
  expect_shown(diff_fleet(other, {"-f", pod}), 1);
}

// The list is the same in each form; who reads it is not.
TEST_F(PolicyDiff, AnotherCarrierIsAChange) {
  for (const char* carrier : {"EnvFile", "Reference"})
    expect_shown(diff_fleet(kFour + "  delivery: [" + carrier + "]\n", {"-f", pod}), 1);
}

TEST_F(PolicyDiff, AValueThatGoesAwayHasItsReason) {
  expect_shown(diff_fleet(named(kPolicy, "spec:\n", "spec:\n  fabric: {expectPorts: 5}\n")), 1);
}

TEST_F(PolicyDiff, APodThatWillBeRefusedIsTheFirstLine) {
  const std::string denying =
      named(kPolicy, "spec:\n", "spec:\n  fabric: {expectPorts: 5}\n  onUnresolved: Deny\n");
  const CliResult told = diff_fleet(denying, {"-f", pod});
  EXPECT_EQ(told.code, 1);
  EXPECT_THAT(told.out.substr(0, told.out.find('\n')),
              testing::EndsWith("; Binding: allowed -> refused for 1 pod"));
}

TEST_F(PolicyDiff, PodsThatThePolicyMatchesNoMoreLoseTheirValues) {
  const std::string other = named(kFour, "rdma/hca", "rdma/other");
  expect_shown(diff_fleet(other, {"-f", write("pods.yaml", kPod + "\n" + kMail)}), 1);
}

TEST_F(PolicyDiff, APodOfANodeIsComparedThere) {
  const std::string bound =
      write("bound.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"gpu-2\", \"hostNetwork\""));
  const std::string absent =
      write("absent.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"x\", \"hostNetwork\""));
  const Json json =
      Json::parse(diff_fleet(named(kFour, "4}", "5}"), {"-f", bound, "-f", absent, "-o", "json"}).out);
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["pods"]["compared"], 2);
  EXPECT_EQ(json["pods"]["changed"], 1);
  EXPECT_EQ(json["pods"]["groups"][0]["pods"], Json::array({bound + ": Pod/train"}));
  EXPECT_FALSE(json["pods"]["groups"][0].contains("on"));
  EXPECT_EQ(json["nodes"]["groups"][0]["nodes"].size(), 3u);
  EXPECT_EQ(json["fields"], Json::array({"spec.fabric"}));
}

TEST_F(PolicyDiff, WithoutTablesThePlansOfPodsAreCompared) {
  const std::string other =
      write("new.yaml", named(kFour, "spec:\n", "spec:\n  env: {NCCL_IB_TIMEOUT: \"22\"}\n"));
  expect_shown(diff({four, other, "-f", pod}), 1);
}

TEST_F(PolicyDiff, EachEndHasItsCode) {
  expect_shown(diff({four, four}), 3);
  EXPECT_EQ(diff({four, four, "--context", "x", "--table", table}).code, 2);
  EXPECT_EQ(
      diff({four, write("two.yaml", kFour + "---" + named(kFour, "name: p", "name: q")), "--table", table})
          .code,
      2);
  EXPECT_EQ(diff({four, path("absent.yaml"), "--table", table}).code, 4);
  EXPECT_EQ(diff({four, four, "--table", path("absent")}).code, 4);
  const CliResult none = diff({four, four, "-f", policy});
  EXPECT_EQ(none.code, 4);
  EXPECT_EQ(none.out, "");
}

class PolicyDiffOfACluster : public AskedCluster {
 protected:
  PolicyDiffOfACluster() {
    Json tables = list(), policies = list();
    tables["items"].push_back(parse_documents(node_yaml("gpu-1", 1), "test")->front());
    policies["items"].push_back(parse_documents(kPolicy, "test")->front());
    for (Json* all : {&tables, &policies}) all->at("items").back()["metadata"]["resourceVersion"] = "1";
    serve("/apis/nccl-env.io/v1alpha1/nodefabrics?limit=500", tables);
    serve("/apis/nccl-env.io/v1alpha1/ncclpolicies?limit=500", policies);
  }
  static Json list() { return {{"metadata", {{"resourceVersion", "1"}}}, {"items", Json::array()}}; }
};

TEST_F(PolicyDiffOfACluster, ANewPolicyIsComparedWithTheClustersOnItsNodes) {
  expect_shown(ask({"policy", "diff", policy}));
  const std::string other = write("new.yaml", named(kPolicy, "spec:\n", "spec:\n  gidIndex: Omit\n"));
  expect_shown(ask({"policy", "diff", other}), 1);
}

TEST_F(PolicyDiffOfACluster, AFirstPolicyIsComparedWithNoneAlsoOnLivePods) {
  const std::string first = write("q.yaml", named(kPolicy, "name: p", "name: q"));
  expect_shown(ask({"policy", "diff", first}), 1);
  Json pods = list();
  pods["items"] = Json::array({given_pod("w")});
  const std::string path = "/api/v1/namespaces/ml/pods";
  serve(path, pods);
  const CliResult live = ask({"policy", "diff", first, "-n", "ml", "-o", "json"});
  EXPECT_EQ(live.code, 1);
  const Json json = Json::parse(live.out);
  EXPECT_TRUE(json["old"].is_null());
  EXPECT_EQ(json["pods"]["compared"], 1);
  EXPECT_EQ(json["pods"]["changed"], 1);
  serve(path, list());
  EXPECT_EQ(ask({"policy", "diff", first, "-n", "ml"}).code, 3) << "no pod";
  EXPECT_EQ(ask({"policy", "diff", first, "-n", "NO"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::policy_diff_test
