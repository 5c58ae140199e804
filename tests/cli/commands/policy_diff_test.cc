// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "cli/asked_cluster.h"
#include "cli/fleet.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::policy_diff_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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
  const CliResult same = diff_fleet(kFour, {"-f", pod});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "0 of 3 nodes, 0 of 1 pod change\nthe policies say the same\n");
}

TEST_F(PolicyDiff, EqualChangesOfNodesAndPodsAreToldOnce) {
  write("fleet/b.yaml", named(node_yaml("gpu-11", 11), "{index: 3,", "{index: 5,"));
  const std::string other = named(
      kPolicy, "spec:\n", "spec:\n  fabric: {hcas: [\"mlx5_[1-2]\"]}\n  env: {NCCL_IB_TIMEOUT: \"22\"}\n");
  const CliResult result = diff_fleet(other, {"-f", pod});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_EQ(result.out,
            "4 of 4 nodes, 1 of 1 pod change\n"
            "the policies differ in spec.env, spec.fabric\n"
            "\n"
            "4 nodes: gpu-1, gpu-2, gpu-10, gpu-11\n"
            "    Host, SubInterface            NCCL_IB_HCA: =mlx5_1,mlx5_2,mlx5_3,mlx5_4 ->\n"
            "                                  =mlx5_1,mlx5_2\n"
            "    Host, PodOwned, SubInterface  NCCL_IB_TIMEOUT: none -> 22\n"
            "\n"
            "1 pod: Pod/train\n"
            "  on 4 nodes: gpu-1, gpu-2, gpu-10, gpu-11\n"
            "    c  NCCL_IB_HCA: =mlx5_1,mlx5_2,mlx5_3,mlx5_4 -> =mlx5_1,mlx5_2\n"
            "    c  NCCL_IB_TIMEOUT: none -> 22\n");
}

TEST_F(PolicyDiff, AValueThatGoesAwayHasItsReason) {
  const CliResult result = diff_fleet(named(kPolicy, "spec:\n", "spec:\n  fabric: {expectPorts: 5}\n"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("3 of 3 nodes change\n"),
                                HasSubstr("NCCL_IB_GID_INDEX: 3 -> none (TooFewPorts)\n")));
}

TEST_F(PolicyDiff, PodsThatThePolicyMatchesNoMoreLoseTheirValues) {
  const std::string other = named(kFour, "rdma/hca", "rdma/other");
  const CliResult result = diff_fleet(other, {"-f", write("pods.yaml", kPod + "\n" + kMail)});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("0 of 3 nodes, 2 of 2 pods change\n"), HasSubstr("spec.match"),
                                HasSubstr("2 pods: Pod/train, Pod/mail\n"),
                                HasSubstr("c  NCCL_IB_GID_INDEX: 3 -> none (NotRdma)\n")));
}

TEST_F(PolicyDiff, APodOfANodeIsComparedThere) {
  const std::string bound =
      write("bound.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"gpu-2\", \"hostNetwork\""));
  const std::string absent =
      write("absent.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"x\", \"hostNetwork\""));
  const Json json =
      Json::parse(diff_fleet(named(kFour, "4}", "5}"), {"-f", bound, "-f", absent, "-o", "json"}).out);
  EXPECT_EQ(json["version"], 2);
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
  const CliResult result = diff({four, other, "-f", pod});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out,
            "1 of 1 pod change\nthe policies differ in spec.env\n\n1 pod: Pod/train\n"
            "    c  NCCL_IB_TIMEOUT: none -> 22\n");
}

TEST_F(PolicyDiff, EachEndHasItsCode) {
  EXPECT_EQ(diff({four, four}).code, 3);
  EXPECT_THAT(diff({four, four}).err, HasSubstr("give nodes with --table, pods with -f"));
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
  const CliResult same = ask({"policy", "diff", policy});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("0 of 1 node change\n"));
  const CliResult other =
      ask({"policy", "diff", write("new.yaml", named(kPolicy, "spec:\n", "spec:\n  gidIndex: Omit\n"))});
  EXPECT_EQ(other.code, 1) << other.err;
  EXPECT_THAT(other.out, HasSubstr("Host  NCCL_IB_GID_INDEX: 3 -> none (OmittedByPolicy)\n"));
  const CliResult absent = ask({"policy", "diff", write("q.yaml", named(kPolicy, "name: p", "name: q"))});
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("the cluster has no NcclPolicy q"));
}

}  // namespace
}  // namespace nccl_env::policy_diff_test
