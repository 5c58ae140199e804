// SPDX-License-Identifier: Apache-2.0
// doctor --pods: which pods are counted and named, and how. How each is judged: pod_answer_test.cc.
#include "nccl_env/judge/explain/missed_pods.h"

#include "judge/asked.h"
#include "nccl_env/core/decide/keys.h"
#include "support/golden.h"

namespace nccl_env::missed_pods_test {
namespace {

using namespace nccl_env::tests;

PodSurroundings opted_in() {
  NcclPolicy policy;
  policy.name = "p";
  policy.resources = {{"rdma/hca", Exposure::Host}};
  return tests::opted_in(policy);
}

void add(const Json& object, const PodSurroundings& around, MissedPods& into) {
  with_record(object, [&](const Pod& pod, const PodRecord& record) { into.add(pod, record, around); });
}

// A pod of job `job` on `node`, as it is where no webhook answered.
Json untouched(const std::string& name, const std::string& job, const std::string& node,
               const std::string& created = "2026-11-20T07:00:00Z") {
  Json made = pod({container("c")});
  made["metadata"]["name"] = name;
  made["metadata"]["creationTimestamp"] = created;
  if (!job.empty())
    made["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job}, {"controller", true}}});
  if (!node.empty()) made["spec"]["nodeName"] = node;
  made["status"]["phase"] = node.empty() ? "Pending" : "Running";
  return made;
}

// As the webhook made it, and no Binding brought values.
Json without_node(const std::string& name, const std::string& job, const std::string& node) {
  return admit(untouched(name, job, node), *opted_in().policy).pod;
}

std::vector<std::string> names_of(const MissedPods& pods) {
  std::vector<std::string> names;
  for (const MissedPod& pod : pods.named())
    names.push_back(std::string(to_string(pod.state)) + " " + pod.finding.subject.name);
  return names;
}

TEST(MissedPods, AreNamedByStateOwnerTimeAndNode) {
  MissedPods pods;
  add(untouched("late", "train", "gpu-1", "2026-11-20T07:05:00Z"), opted_in(), pods);
  add(untouched("alone", "", ""), opted_in(), pods);
  add(untouched("early", "train", "gpu-2"), opted_in(), pods);
  add(without_node("unbound", "train", "gpu-1"), opted_in(), pods);
  EXPECT_THAT(names_of(pods), ElementsAre("missed at admission alone", "missed at admission early",
                                          "missed at admission late", "missed at Binding unbound"));
  EXPECT_FALSE(pods.is_good());
  expect_golden(render_text(pods));
  const nlohmann::ordered_json json = to_json(pods);
  EXPECT_EQ(json["missedAtAdmission"], 3);
  EXPECT_EQ(json["pods"][1]["owner"], (nlohmann::ordered_json{{"kind", "Job"}, {"name", "train"}}));
  EXPECT_EQ(json["pods"][1]["node"], "gpu-2");
  EXPECT_EQ(json["pods"][1]["created"], "2026-11-20T07:00:00Z");
  EXPECT_EQ(json["pods"][0]["node"], nullptr);
  EXPECT_EQ(json["pods"][3]["state"], "missed at Binding");
}

// A Job counts a pod that is deleted as failed, a JobSet resumes its own Jobs, and to others nothing is lost.
TEST(MissedPods, AreCreatedAnewAsTheirOwnersHaveIt) {
  Json of_set = untouched("a", "set-workers-0", "gpu-1"), of_volcano = untouched("b", "train", "gpu-1"),
       replica = untouched("c", "web-1", "gpu-1"), other = untouched("d", "web-2", "gpu-1");
  of_set["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = "set";
  of_volcano["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1";
  for (Json* made : {&replica, &other}) {
    (*made)["metadata"]["ownerReferences"][0]["apiVersion"] = "apps/v1";
    (*made)["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet";
  }
  MissedPods pods;
  for (const Json& object : {of_set, of_volcano, replica, other}) add(object, opted_in(), pods);
  const std::vector<MissedPod> named = pods.named();
  EXPECT_NE(named[0].finding.remedy, named[1].finding.remedy);
  for (std::size_t i = 2; i < named.size(); ++i)
    EXPECT_EQ(named[i].finding.remedy, named[1].finding.remedy) << named[i].finding.subject.name;
  expect_golden(render_text(pods));
}

TEST(MissedPods, AreNeitherThoseThatEndedNorThoseThatThePolicyLeavesAlone) {
  MissedPods pods;
  Json ended = untouched("ended", "train", "gpu-1"), going = untouched("going", "train", "gpu-1");
  ended["status"]["phase"] = "Failed";
  going["metadata"]["deletionTimestamp"] = "2026-11-20T07:00:00Z";
  Json out = untouched("out", "", "gpu-1");
  out["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  Json other = untouched("other", "", "gpu-1");
  other["spec"]["containers"][0].erase("resources");
  for (const Json& object : {ended, going, out, other, without_node("waiting", "", "")})
    add(object, opted_in(), pods);
  EXPECT_TRUE(pods.is_good());
  expect_golden(render_text(pods));
}

TEST(MissedPods, ThatReadForeignValuesAreToldWhoseTheyAre) {
  MissedPods pods;
  Json foreign = without_node("copied", "", "gpu-2");
  foreign["metadata"]["annotations"]["nccl-env.io/node"] =
      R"({"v":1,"node":"gpu-1","policy":"p","generation":1})";
  const std::string path = foreign["spec"]["volumes"][0]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"];
  foreign["metadata"]["annotations"][std::string(annotation_of(path))] = "NCCL_IB_HCA==mlx5_1\n";
  add(foreign, opted_in(), pods);
  EXPECT_EQ(pods.count(PodState::Foreign), 1u);
  expect_golden(render_text(pods));
}

TEST(MissedPods, ThatMayNotBeReadAreNoneThatAreWell) {
  MissedPods pods;
  pods.leave_out("not allowed: get ncclpolicies.nccl-env.io p");
  PodSurroundings around = opted_in();
  around.policy = nullptr;
  add(untouched("train", "", "gpu-1"), around, pods);
  EXPECT_FALSE(pods.is_good());
  expect_golden(render_text(pods));
  EXPECT_EQ(to_json(pods)["leftOut"].size(), 1u);
}

TEST(MissedPods, BeyondTheMostThatAreNamedAreCounted) {
  MissedPods pods;
  const Json object = untouched("train", "train", "gpu-1");
  for (std::size_t i = 0; i <= MissedPods::kMostNamed; ++i) add(object, opted_in(), pods);
  EXPECT_EQ(pods.named().size(), MissedPods::kMostNamed);
  EXPECT_EQ(pods.count(PodState::MissedAtAdmission), MissedPods::kMostNamed + 1);
  EXPECT_TRUE(render_text(pods).find("\nand 1 more\n") != std::string::npos);
}

}  // namespace
}  // namespace nccl_env::missed_pods_test
