// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor --pods: what is asked of the cluster, exit codes, and which right is missing. What is
// found: core's missed_pods_test.cc.
#include <gmock/gmock.h>

#include "cli/asked_cluster.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::doctor_pods_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kSpaces = "/api/v1/namespaces?labelSelector=nccl-env.io%2Fpolicy&limit=500";
const std::string kPolicyPath = "/apis/nccl-env.io/v1alpha1/ncclpolicies/p";

class DoctorPods : public AskedCluster {
 protected:
  DoctorPods() {
    serve(kPolicyPath, parse_documents(kPolicy, "test")->front());
    serve_spaces({"ml"});
    serve_pods("ml", {given_pod("train-0")});
  }
  static Json list(const std::vector<Json>& items) {
    return {{"metadata", {{"resourceVersion", "1"}}}, {"items", items}};
  }
  static Json space(const std::string& name) {
    return {
        {"kind", "Namespace"},
        {"metadata", {{"name", name}, {"resourceVersion", "1"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}};
  }
  void serve_spaces(const std::vector<std::string>& names) {
    std::vector<Json> all;
    for (const std::string& name : names) {
      all.push_back(space(name));
      serve("/api/v1/namespaces/" + name, all.back());
    }
    serve(kSpaces, list(all));
  }
  static std::string pods_path(const std::string& name_space, const std::string& next = "") {
    return "/api/v1/namespaces/" + name_space +
           "/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500" +
           (next.empty() ? "" : "&continue=" + next);
  }
  void serve_pods(const std::string& name_space, const std::vector<Json>& pods) {
    serve(pods_path(name_space), list(pods));
  }
  static Json missed_pod(const std::string& name, const std::string& name_space = "ml") {
    Json made = Json::parse(kPod);
    made["metadata"] = {{"name", name}, {"namespace", name_space}, {"resourceVersion", "1"}};
    made["spec"]["nodeName"] = "gpu-1";
    return made;
  }
};

TEST_F(DoctorPods, PodsThatHaveTheirValuesAreCode0) {
  expect_shown(run({"doctor", "--pods"}));
  EXPECT_THAT(asked(), ElementsAre(kSpaces, kPolicyPath, pods_path("ml")));
}

TEST_F(DoctorPods, MissedOnesOfAllPagesAndNamespacesAreCode1) {
  serve_spaces({"ml", "web"});
  Json first = list({missed_pod("missed-0"), given_pod("train-0")});
  first["metadata"]["continue"] = "more";
  serve(pods_path("ml"), first);
  serve(pods_path("ml", "more"), list({missed_pod("missed-1")}));
  serve_pods("web", {missed_pod("missed-2", "web")});
  const CliResult result = run({"doctor", "--pods", "-o", "json"});
  EXPECT_EQ(result.code, 1) << result.err;
  const Json json = Json::parse(result.out);
  std::vector<std::string> names;
  for (const Json& some : json["pods"])
    names.push_back(some["namespace"].get<std::string>() + "/" + some["pod"].get<std::string>());
  EXPECT_THAT(names, ElementsAre("ml/missed-0", "ml/missed-1", "web/missed-2"));
  EXPECT_EQ(json["missedAtAdmission"], 3);
  EXPECT_EQ(json["lookedAt"], 4);
  EXPECT_THAT(asked(),
              ElementsAre(kSpaces, kPolicyPath, pods_path("ml"), pods_path("ml", "more"), pods_path("web")))
      << "the policy once, and of a namespace its pods alone";
}

TEST_F(DoctorPods, OneNamespaceIsLookedAtAloneAlsoWithoutTheLabel) {
  Json copied = given_pod("copied");
  copied["spec"]["nodeName"] = "gpu-2";
  serve("/api/v1/namespaces/outside",
        {{"kind", "Namespace"}, {"metadata", {{"name", "outside"}, {"resourceVersion", "1"}}}});
  serve_pods("outside", {copied, missed_pod("untouched")});
  expect_shown(run({"doctor", "--pods", "-n", "outside"}), 1);
  EXPECT_THAT(asked(), Not(Contains(kSpaces)));
}

TEST_F(DoctorPods, ARightThatIsMissingIsOneLine) {
  serve_spaces({"ml", "closed"});
  expect_shown(run({"doctor", "--pods"}), 1);
  EXPECT_EQ(run({"doctor", "--pods", "-n", "ml"}).code, 0);
  serve_none("/api/v1/namespaces/nope");
  expect_shown(run({"doctor", "--pods", "-n", "nope"}), 4);
}

TEST_F(DoctorPods, WithoutTheRightToListNamespacesOneIsToBeNamed) {
  serve_none(kSpaces);
  expect_shown(run({"doctor", "--pods"}), 4);
}

TEST_F(DoctorPods, NoNamespaceThatIsOptedInIsCode3) {
  serve_spaces({});
  EXPECT_EQ(run({"doctor", "--pods"}).code, 3);
}

TEST_F(DoctorPods, WithoutAnInstallationNoPodIsWell) {
  for (const char* target : {"/apis/nccl-env.io/v1alpha1/ncclpolicies/p", "/apis/nccl-env.io/v1alpha1"})
    serve_none(target);
  EXPECT_EQ(run({"doctor", "--pods"}).code, 3);
  serve("/apis/nccl-env.io/v1alpha1", Json::object());
  EXPECT_NE(run({"doctor", "--pods"}).code, 3) << "the policy alone is missing";
}

TEST_F(DoctorPods, WrongUsageIsCode2) {
  for (const std::string& more :
       {table, "--store dir:" + path("fleet"), std::string("--policy-name p"), std::string("-n ../x"),
        std::string("-n ml --resource rdma/hca"), std::string("-n ml --cpu 2")})
    EXPECT_EQ(run(words("doctor --pods " + more)).code, 2) << more;
  EXPECT_THAT(asked(), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::doctor_pods_test
