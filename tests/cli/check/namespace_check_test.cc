// SPDX-License-Identifier: Apache-2.0
// nccl-env check --namespace: what is tried, who refuses, and whose fault that is.
#include "check/namespace_check.h"

#include "cli/asked_cluster.h"
#include "cli/installed_objects.h"

namespace nccl_env::namespace_check_test {
namespace {

using namespace nccl_env::tests;

const char* const kFull = "pods \"p\" is forbidden: exceeded quota: q, requested: limits.cpu=1100m";

class NamespaceCheck : public AskedCluster {
 protected:
  void SetUp() override {
    otherwise = refusal(404, "not found");
    serve_text("/api/v1/namespaces/ml",
               R"({"kind": "Namespace", "metadata": {"name": "ml", "labels": {"nccl-env.io/policy": "p"}}})");
    put_policy("");
    put_tables({table_of("gpu-1")});
    instead = [this](const ScriptedRequest& request) { return create(request); };
  }
  void put_policy(const std::string& more) { serve(kPolicyPath, object_of(kPolicy + more)); }
  void put_tables(const std::vector<Json>& tables) { serve(kTablesPath, list_of_items(tables)); }
  std::optional<Answer> create(const ScriptedRequest& request) {
    if (request.method != "POST") return std::nullopt;
    tried.push_back(Json::parse(request.body));
    const bool ours = !tried.back()["metadata"].contains("labels");
    const std::string& why = ours ? refusal_with_us : refusal_without_us;
    if (!why.empty()) return refusal(403, why);
    Json made = tried.back();
    if (ours && called) {
      made["metadata"]["annotations"]["nccl-env.io/status"] = Json{
          {"v", 1},
          {"exposure", "SubInterface"},
          {"containers",
           {{"sample",
             {{"set", {{"NCCL_IB_HCA", "Node"}}},
              {"omitted",
               {{"NCCL_IB_GID_INDEX", "PodGidUnknown"}}}}}}}}.dump();
      if (form == "ContainerStart")
        made["spec"]["initContainers"] = {
            {{"name", "nccl-env-resolve"}, {"image", "registry.example/agent:1"}}};
      else
        made["spec"]["volumes"] = {
            {{"name", "nccl-env-conf"}, {"downwardAPI", {{"items", {{{"path", "nccl.conf"}}}}}}}};
    }
    return Answer{201, made.dump()};
  }
  CliResult check(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"check", "--namespace", "ml"});
    return ask(more);
  }

  bool called = true;
  std::string form = "Binding";
  std::string refusal_with_us, refusal_without_us;
  std::vector<Json> tried;
};

TEST_F(NamespaceCheck, TellsWhatAPodWouldGet) {
  expect_shown(check());
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_EQ(asked()[2], kPodsOfMl + "?dryRun=All");
  EXPECT_EQ(tried[0]["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"], "1");
  EXPECT_FALSE(tried[0]["spec"].contains("hostNetwork"));
  form = "ContainerStart";
  expect_shown(check());
}

TEST_F(NamespaceCheck, ResourcesThatGetTheSameAreTriedAndToldOnce) {
  Json matching = object_of(kPolicy);
  for (const char* name : {"rdma/a", "rdma/b", "rdma/c", "rdma/d", "rdma/e"})
    matching["spec"]["match"]["resources"].push_back({{"name", name}, {"exposure", "PodOwned"}});
  serve(kPolicyPath, matching);
  EXPECT_THAT(check().out, AllOf(HasSubstr("a pod with rdma/hca\n"),
                                 HasSubstr("a pod with rdma/a, rdma/b, rdma/c, rdma/d and 1 more\n")));
  EXPECT_THAT(tried, SizeIs(2));
  const Json samples = Json::parse(check({"-o", "json"}).out)["samples"];
  EXPECT_EQ(samples[1]["resource"], "rdma/a");
  EXPECT_THAT(samples[1]["alike"], SizeIs(4));
}

TEST_F(NamespaceCheck, WithoutAnInstallationIsCode3) {
  answers.erase(kPolicyPath);
  EXPECT_EQ(check().code, 3);
  serve_text("/api/v1/namespaces/ml", R"({"kind": "Namespace", "metadata": {"name": "ml"}})");
  expect_shown(check(), 3);
}

TEST_F(NamespaceCheck, WhatWeAddAndIsRefusedIsOursUnlessItIsRefusedWithoutUsToo) {
  refusal_with_us = kFull;
  expect_shown(check(), 1);
  ASSERT_EQ(tried.size(), 2u);
  EXPECT_EQ(tried[1]["metadata"]["labels"]["nccl-env.io/inject"], "false");
  const Json json = Json::parse(check({"-o", "json"}).out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["sentence"], "what nccl-env adds to the pod is refused by a ResourceQuota");
  EXPECT_EQ(json["samples"][0]["refused"]["sentence"], kFull);
  EXPECT_EQ(json["samples"][0]["admittedWithoutUs"], true);
  refusal_without_us = kFull;
  expect_shown(check(), 1);
  refusal_with_us = "failed calling webhook \"strict-pods.nccl-env.io\": connection refused";
  refusal_without_us = "";
  expect_shown(check(), 1);
}

TEST_F(NamespaceCheck, AHookThatIsNotCalledIsTold) {
  called = false;
  expect_shown(check(), 1);
  expect_shown(check({"--resource", "example.com/other"}), 1);
  put_policy("  mode: DryRun\n");
  expect_shown(check());
}

// A sample pod has a resource. Whoever adds something else by which a policy matches gives the sample that,
// or a note (note_untried), and an example here.
TEST_F(NamespaceCheck, EachKindOfMatchIsTriedOrSaidNotToBe) {
  const std::map<std::string, Json> examples{{"deviceClasses", Json::array({"rdma.example.com"})},
                                             {"networks", Json::array({{{"name", "ml/rail"}}})},
                                             {"hostDevices", true}};
  const Json crd = base_object("crds/ncclpolicies.yaml", "CustomResourceDefinition");
  const Json& match = crd.at(
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/match/properties"_json_pointer);
  for (const auto& [field, schema] : match.items()) {
    if (field == "resources") continue;
    ASSERT_TRUE(examples.contains(field)) << field;
    Json of_policy = object_of(kPolicy);
    of_policy["spec"]["match"][field] = examples.at(field);
    serve(kPolicyPath, of_policy);
    EXPECT_THAT(check().out, HasSubstr("match." + field + " is not tried")) << field;
  }
}

TEST_F(NamespaceCheck, WithoutLabelOrPolicyNothingIsTried) {
  serve("/apis/nccl-env.io/v1alpha1", Json::object());
  serve_text("/api/v1/namespaces/ml", R"({"kind": "Namespace", "metadata": {"name": "ml"}})");
  expect_shown(check(), 1);
  SetUp();
  answers.erase(kPolicyPath);
  expect_shown(check(), 1);
  serve_text(kPolicyPath, "{\"spec\": 7}");
  expect_shown(check(), 1);
  EXPECT_THAT(tried, IsEmpty());
}

TEST_F(NamespaceCheck, ATenantWhoMayNotReadPoliciesNamesTheResource) {
  answers[kPolicyPath] = refusal(403, "ncclpolicies is forbidden");
  expect_shown(check(), 4);
  EXPECT_EQ(check({"--resource", "rdma/hca"}).code, 0);
  called = false;
  expect_shown(check({"--resource", "rdma/hca"}), 1);
  answers["/api/v1/namespaces/ml"] = refusal(403, "namespaces \"ml\" is forbidden");
  expect_shown(check(), 4);
}

TEST_F(NamespaceCheck, ANamespaceIsNamed) {
  EXPECT_EQ(ask({"check", "-n", "../x"}).code, 2);
  EXPECT_EQ(ask({"check", "-n", ""}).code, 2);
  EXPECT_EQ(ask({"check", "--cpu", "2"}).code, 2) << "only with --namespace";
  EXPECT_EQ(ask({"doctor", "-n", "ml"}).code, 2) << "only with --pods";
  EXPECT_THAT(asked(), IsEmpty());
}

TEST(SampleResources, AreThePatternsWithoutTheirStar) {
  NcclPolicy policy;
  for (const char* glob : {"rdma/hca", "rdma/hca_[a-c]*", "rdma/*", "*", "example.com/vf?",
                           "vpc.amazonaws.com/efa", "vpc.amazonaws.com/ef*", "rdma/-[!a]"})
    policy.resources.push_back({glob, {}});
  EXPECT_THAT(cli::sample_resources(policy), ElementsAre("rdma/hca", "vpc.amazonaws.com/ef"));
}

}  // namespace
}  // namespace nccl_env::namespace_check_test
