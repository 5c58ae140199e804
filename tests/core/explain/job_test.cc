// SPDX-License-Identifier: Apache-2.0
// explain job/NAME: what has to be equal and isn't, and which rank is the odd one; all from the pods.
#include "nccl_env/core/explain/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/asked.h"

namespace nccl_env::job_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

NcclPolicy job_policy(std::int64_t generation = 3) {
  NcclPolicy policy;
  policy.name = "p";
  policy.generation = generation;
  policy.resources = {{"rdma/hca", Exposure::Host}};
  policy.env = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}};
  return policy;
}

// The pod worker-N on gpu-N; each step may be changed.
struct Worker {
  int number = 0;
  NcclPolicy policy = job_policy();
  NodeFabric node;
  std::vector<Json> env;
  bool admitted = true;
  bool bound = true;
  std::function<void(Json&)> then = [](Json&) {};

  explicit Worker(int n) : number(n), node(rails_node(8, 3, "gpu-" + std::to_string(n))) {}

  [[nodiscard]] Json make() const {
    Json object = pod({container("c", env)});
    object["metadata"]["name"] = "train-worker-" + std::to_string(number);
    object["metadata"]["labels"] = {{"training.kubeflow.org/replica-type", "worker"},
                                    {"training.kubeflow.org/replica-index", std::to_string(number)}};
    if (admitted) object = admit(object, policy).pod;
    object["spec"]["nodeName"] = node.name;
    if (bound) {
      object = bind_to_node(object, plan_binding(std::make_shared<const NcclPolicy>(policy), node.name, &node,
                                                 NodeContext{kNow}));
    }
    then(object);
    return object;
  }
};

// Four workers, the third of which is as the test makes it.
AnsweredJob with_odd(const std::function<void(Worker&)>& change, const PodSurroundings& around = {}) {
  std::vector<Json> objects;
  for (int n = 0; n < 4; ++n) {
    Worker worker(n);
    if (n == 2) change(worker);
    objects.push_back(worker.make());
  }
  return ask_job(objects, around);
}

TEST(JobAnswer, AHealthyJobIsATableAndASentence) {
  const AnsweredJob asked = with_odd([](Worker&) {});
  EXPECT_THAT(texts_of(asked.answer.findings), IsEmpty());
  EXPECT_TRUE(is_good(asked.answer.findings));
  EXPECT_EQ(asked.text(),
            "job ml/train\n"
            "  RANK      NODE   HCAS      GID  STATE\n"
            "  worker-0  gpu-0  mlx5_1-8  3    given\n"
            "  worker-1  gpu-1  mlx5_1-8  3    given\n"
            "  worker-2  gpu-2  mlx5_1-8  3    given\n"
            "  worker-3  gpu-3  mlx5_1-8  3    given\n"
            "\n"
            "All 4 ranks of job train have their values, and agree where they have to.\n");
}

TEST(JobAnswer, AMissingRailIsNamedWithRankNodeAndHca) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.node.ports.erase(worker.node.ports.begin() + 3);
    worker.policy.fabric.hcas = {"*"};
  });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre("warning MissingRail worker-2: has 7 HCAs where others have 8: mlx5_4 is missing"));
  EXPECT_EQ(
      asked.answer.sentence,
      "1 of 4 ranks of job train needs attention: rank worker-2 on node gpu-2 has 7 HCAs where others have "
      "8: mlx5_4 is missing.");
  EXPECT_THAT(asked.text(), HasSubstr("\n! worker-2  gpu-2  mlx5_1-3 mlx5_5-8  3    given\n"));
}

TEST(JobAnswer, HcasOfAnotherKindAreAnOddNode) {
  EXPECT_THAT(
      texts_of(with_odd([](Worker& worker) {
                 worker.node = rails_node(8, 3, "gpu-2", "bnxt_re");
               }).answer.findings),
      ElementsAre(AllOf(StartsWith("warning OddNode worker-2: has HCAs of another kind than most: bnxt_re1"),
                        HasSubstr("instead of mlx5_1"))));
}

TEST(JobAnswer, AValueThatHasToBeEqualAndIsNot) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.env = Json::array({variable("NCCL_IB_QPS_PER_CONNECTION", "4"), variable("NCCL_DEBUG", "INFO")});
  });
  EXPECT_THAT(
      texts_of(asked.answer.findings),
      ElementsAre("error ValuesDiffer worker-2: has NCCL_IB_QPS_PER_CONNECTION 4, which has to be equal on "
                  "all ranks: 8 on 3 ranks, 4 on 1 rank"));
}

TEST(JobAnswer, AValueThatOneRankLacksDiffersToo) {
  const AnsweredJob asked = with_odd([](Worker& worker) { worker.policy.env.clear(); });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre(HasSubstr("has NCCL_IB_QPS_PER_CONNECTION not set, which has to")));
}

TEST(JobAnswer, WhatAPodTakesFromElsewhereIsNotCompared) {
  EXPECT_THAT(texts_of(with_odd([](Worker& worker) {
                         worker.env = Json::array({variable("NCCL_IB_QPS_PER_CONNECTION", "$(QPS)")});
                       }).answer.findings),
              IsEmpty());
}

TEST(JobAnswer, OfTwoRanksNeitherIsTheUsualOne) {
  Worker other(1);
  other.env = Json::array({variable("NCCL_IB_QPS_PER_CONNECTION", "4")});
  const AnsweredJob asked = ask_job({Worker(0).make(), other.make()});
  EXPECT_EQ(asked.answer.findings.size(), 2u);
  EXPECT_THAT(asked.answer.sentence, StartsWith("2 of 2 ranks of job train need attention"));
}

TEST(JobAnswer, MissedAtBindingIsAnErrorOfThatRankAlone) {
  const AnsweredJob asked = with_odd([](Worker& worker) { worker.bound = false; });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre(StartsWith("error MissedAtBinding worker-2: was bound without")));
}

TEST(JobAnswer, ValuesOfAnotherNodeAreAnError) {
  const AnsweredJob asked = with_odd(
      [](Worker& worker) { worker.then = [](Json& object) { object["spec"]["nodeName"] = "elsewhere"; }; });
  EXPECT_THAT(
      texts_of(asked.answer.findings),
      ElementsAre("error Foreign worker-2: has values that are not its own: they are node gpu-2's, and the "
                  "pod is on elsewhere"));
  EXPECT_THAT(asked.text(), HasSubstr(" foreign\n"));
}

TEST(JobAnswer, RanksWithoutAnyListDoNotHaveTheirValues) {
  std::vector<Json> bound, waiting;
  for (int n = 0; n < 2; ++n) {
    Worker worker(n);
    worker.node.ports.clear();
    bound.push_back(worker.make());
    worker.bound = false;
    worker.then = [](Json& object) { object["spec"].erase("nodeName"); };
    waiting.push_back(worker.make());
  }
  const AnsweredJob asked = ask_job(bound);
  EXPECT_THAT(
      texts_of(asked.answer.findings),
      ElementsAre("warning NoList worker-0 worker-1: got no NCCL_IB_HCA, like all other ranks: its node "
                  "could not give it (NoFabricPort)"));
  EXPECT_THAT(asked.answer.sentence, StartsWith("2 of 2 ranks of job train need attention"));
  EXPECT_EQ(ask_job(waiting).answer.sentence, "No rank of job train has an HCA list yet: none has a node.");
  Worker without(0);
  without.policy.hca.kind = HcaRule::Kind::Omit;
  EXPECT_EQ(ask_job({without.make()}).answer.sentence,
            "No rank of job train has an HCA list: nccl-env gives them none, so NCCL takes its own.");
}

TEST(JobAnswer, MissedAtAdmissionIsSeenBesideTheOthers) {
  const AnsweredJob asked = with_odd([](Worker& worker) { worker.admitted = worker.bound = false; });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre(StartsWith("error MissedAtAdmission worker-2: was created without")));
  EXPECT_THAT(asked.text(), HasSubstr("\n! worker-2  gpu-2  -         -    missed at admission\n"));
}

TEST(JobAnswer, ALauncherIsNoRank) {
  Json launcher = pod({container("c", {}, "")});
  launcher["metadata"]["name"] = "train-launcher";
  launcher["metadata"]["labels"]["training.kubeflow.org/job-role"] = "launcher";
  const AnsweredJob asked = ask_job({Worker(0).make(), Worker(1).make(), launcher});
  EXPECT_THAT(texts_of(asked.answer.findings), IsEmpty());
  EXPECT_EQ(asked.answer.ranks.front().name, "launcher");
  EXPECT_THAT(asked.answer.sentence, StartsWith("All 2 ranks"));
  EXPECT_THAT(asked.answer.notes, ElementsAre("1 pod was given nothing, and is not compared."));
}

TEST(JobAnswer, AnOptedOutPodWasNotMissed) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.admitted = worker.bound = false;
    worker.then = [](Json& object) { object["metadata"]["labels"]["nccl-env.io/inject"] = "false"; };
  });
  EXPECT_THAT(texts_of(asked.answer.findings), IsEmpty());
  EXPECT_THAT(asked.text(), HasSubstr("not injected, OptedOut"));
}

TEST(JobAnswer, ANodeThatCannotGiveWhatOthersGive) {
  const AnsweredJob asked = with_odd([](Worker& worker) { worker.node.ports[1].gids->back().index = 7; });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre("warning OddNode worker-2: got no NCCL_IB_GID_INDEX, which others "
                          "have: its node could not give it (GidNotUniform)"));
}

TEST(JobAnswer, AnotherGidIndexIsToldAndIsNoFault) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    for (Port& port : worker.node.ports) port.gids->back().index = 5;
  });
  EXPECT_THAT(texts_of(asked.answer.findings),
              ElementsAre(StartsWith("info RankIndexDiffers worker-2: has GID index 5")));
  EXPECT_TRUE(is_good(asked.answer.findings));
  EXPECT_THAT(asked.answer.sentence, StartsWith("All 4 ranks"));
}

TEST(JobAnswer, GenerationsThatDiffer) {
  EXPECT_THAT(texts_of(with_odd([](Worker& worker) { worker.policy = job_policy(4); }).answer.findings),
              ElementsAre("warning PolicyDiffers worker-2: follows policy p, generation 4; most follow p, "
                          "generation 3"));
}

TEST(JobAnswer, TwoRanksOfOneNodeWithOtherValues) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.node.name = "gpu-1";
    for (Port& port : worker.node.ports) port.gids->back().index = 5;
  });
  EXPECT_THAT(texts_of(asked.answer.findings),
              Contains(StartsWith("warning NodeValuesDiffer worker-1 worker-2: shares its node")));
}

TEST(JobAnswer, ATableThatChangedSinceItWasBound) {
  PodSurroundings around;
  around.context.now = kNow;
  around.policy = std::make_shared<const NcclPolicy>(job_policy());
  around.table_known = true;
  around.table = std::make_shared<const NodeFabric>(rails_node(4, 3, "gpu"));
  const AnsweredJob asked = with_odd([](Worker&) {}, around);
  EXPECT_THAT(
      texts_of(asked.answer.findings),
      ElementsAre(StartsWith("warning ChangedSinceBound worker-0 worker-1 worker-2 worker-3: got NCCL_IB_HCA "
                             "=mlx5_1,")));
}

TEST(JobAnswer, RanksThatFinishedAreNotComparedWhileOthersRun) {
  const auto finished = [](Worker& worker) {
    worker.bound = false;
    worker.then = [](Json& object) { object["status"]["phase"] = "Failed"; };
  };
  const AnsweredJob asked = with_odd(finished);
  EXPECT_THAT(texts_of(asked.answer.findings), IsEmpty());
  EXPECT_THAT(asked.answer.notes, ElementsAre(HasSubstr("has finished while others have not")));
  Worker alone(0);
  finished(alone);
  EXPECT_THAT(texts_of(ask_job({alone.make()}).answer.findings),
              ElementsAre(StartsWith("error MissedAtBinding")));
}

TEST(JobAnswer, NothingGivenToAnybody) {
  Worker bare(0);
  bare.admitted = bare.bound = false;
  const AnsweredJob asked = ask_job({bare.make()});
  EXPECT_THAT(asked.answer.sentence, StartsWith("No pod of job train was given anything by nccl-env"));
  EXPECT_TRUE(is_good(asked.answer.findings));
  EXPECT_THAT(ask_job({}).answer.sentence, StartsWith("No pod of job train"));
}

TEST(JobAnswer, RanksAreNamedByTheLabelsOfTheirController) {
  const auto name = [](const Json& labels) {
    Json object = pod({container("c")});
    object["metadata"]["labels"] = labels;
    return ask_job({object}).answer.ranks.front().name;
  };
  EXPECT_EQ(
      name({{"training.kubeflow.org/job-role", "worker"}, {"training.kubeflow.org/replica-index", "1"}}),
      "worker-1");
  EXPECT_EQ(name({{"jobset.sigs.k8s.io/replicatedjob-name", "w"},
                  {"jobset.sigs.k8s.io/job-index", "0"},
                  {"batch.kubernetes.io/job-completion-index", "2"}}),
            "w-0-2");
  EXPECT_EQ(name({{"leaderworkerset.sigs.k8s.io/group-index", "0"},
                  {"leaderworkerset.sigs.k8s.io/worker-index", "3"}}),
            "0-3");
  EXPECT_EQ(name({{"batch.kubernetes.io/job-completion-index", "5"}}), "5");
  EXPECT_EQ(name({{"apps.kubernetes.io/pod-index", "7"}}), "7");
  EXPECT_EQ(name({{"app", "x"}}), "p");
}

TEST(JobAnswer, RanksStandInNaturalOrderAndATriedAgainOneByItsPod) {
  std::vector<Json> objects;
  for (const int n : {10, 9, 1}) objects.push_back(Worker(n).make());
  Json again = Worker(1).make();
  again["metadata"]["name"] = "train-worker-1-x";
  objects.push_back(again);
  std::vector<std::string> names;
  for (const JobRank& rank : ask_job(objects).answer.ranks) names.push_back(rank.name);
  EXPECT_THAT(names, ElementsAre("train-worker-1", "train-worker-1-x", "worker-9", "worker-10"));
}

TEST(JobAnswer, AsManyValuesAsRanksStayShort) {
  std::vector<Json> objects;
  for (int n = 0; n < 9; ++n) {
    Worker worker(n);
    worker.env =
        Json::array({variable("NCCL_IB_QPS_PER_CONNECTION", std::to_string(n) + std::string(500, '0'))});
    objects.push_back(worker.make());
  }
  const AnsweredJob asked = ask_job(objects);
  EXPECT_EQ(asked.answer.findings.size(), 9u);
  for (const Finding& finding : asked.answer.findings) {
    EXPECT_LT(finding.sentence.size(), 400u);
    EXPECT_THAT(finding.sentence, HasSubstr(", and 6 other values"));
  }
}

TEST(JobAnswer, ALargeJobsTextStaysShort) {
  std::vector<Json> objects;
  for (int n = 0; n < 40; ++n) {
    Worker worker(n);
    worker.bound = n % 2 == 0;
    objects.push_back(worker.make());
  }
  const AnsweredJob asked = ask_job(objects);
  EXPECT_THAT(asked.answer.sentence, AllOf(StartsWith("20 of 40 ranks"), HasSubstr("; and 17 more.")));
  EXPECT_THAT(asked.text(), HasSubstr(" and 12 more: was bound"));
}

TEST(JobAnswer, NoLineIsLongerThan80) {
  std::vector<Json> objects;
  for (int n = 0; n < 3; ++n) {
    Worker worker(n);
    worker.node =
        rails_node(8 - n, 3, "ip-10-123-123-12" + std::to_string(n) + ".ap-southeast-1.compute.internal");
    worker.policy.fabric.hcas = {"*"};
    worker.then = [](Json& object) {
      object["metadata"]["labels"]["training.kubeflow.org/replica-type"] = "a-very-long-name-of-a-replica";
    };
    objects.push_back(worker.make());
  }
  std::istringstream lines(ask_job(objects).text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(JobAnswer, HostileNotesDoNotReachTheTerminal) {
  Worker worker(0);
  worker.then = [](Json& object) {
    object["metadata"]["labels"]["training.kubeflow.org/replica-type"] = "\x1b[31m";
    object["metadata"]["annotations"]["nccl-env.io/status"] =
        R"({"v":1,"policy":"\u001b[2J","generation":1,"containers":{"c":{}}})";
    object["metadata"]["annotations"]["host.nccl-env.io/NCCL_IB_HCA"] = "=,,\x07,:::";
    object["spec"]["nodeName"] = "\x1b]0;x";
  };
  const AnsweredJob asked = ask_job({worker.make(), Worker(1).make()});
  for (const char c : asked.text()) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(JobAnswer, JsonHasItsKeys) {
  const AnsweredJob asked = with_odd([](Worker& worker) { worker.bound = false; });
  const nlohmann::ordered_json json = to_json(asked.answer, asked.members, {"ml", "train", {"left"}});
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["ranks"].size(), 4u);
  EXPECT_EQ(json["ranks"][0]["hcas"].size(), 8u);
  EXPECT_EQ(json["findings"][0]["code"], "MissedAtBinding");
  EXPECT_EQ(json["findings"][0]["subject"]["name"], "train");
  EXPECT_EQ(json["findings"][0]["subject"]["parts"][0], "worker-2");
  EXPECT_EQ(json["leftOut"][0], "left");
}

}  // namespace
}  // namespace nccl_env::job_test
