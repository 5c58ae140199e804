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
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
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

// "error MissedAtBinding worker-2" of each finding; the golden holds the first sentence.
std::vector<std::string> told(const AnsweredJob& asked) {
  expect_golden(asked.answer.sentence);
  std::vector<std::string> codes;
  for (const std::string& text : texts_of(asked.answer.findings))
    codes.push_back(text.substr(0, text.find(':')));
  return codes;
}

TEST(JobAnswer, AHealthyJobIsATableAndASentence) {
  const AnsweredJob asked = with_odd([](Worker&) {});
  EXPECT_THAT(told(asked), IsEmpty());
  EXPECT_TRUE(is_good(asked.answer.findings));
  expect_golden("the whole", asked.text());
}

TEST(JobAnswer, AMissingRailIsNamedWithRankNodeAndHca) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.node.ports.erase(worker.node.ports.begin() + 3);
    worker.policy.fabric.hcas = {"*"};
  });
  EXPECT_THAT(told(asked), ElementsAre("error MissingRail worker-2"));
  expect_golden("the whole", asked.text());
}

// Four workers, whose nodes are today as the test makes them.
AnsweredJob today(const NcclPolicy& policy_today,
                  const std::function<void(int number, NodeFabric&)>& change) {
  AnsweredJob asked;
  for (int n = 0; n < 4; ++n) {
    const Worker worker(n);
    NodeFabric node = worker.node;
    change(n, node);
    asked.members.push_back(ask(worker.make(), all_readable(policy_today, node)));
  }
  asked.answer = answer_job("train", asked.members);
  return asked;
}

TEST(JobAnswer, ARailThatWentDownUnderTheJobIsTheAnswerAndItsRankComesFirst) {
  const auto down = [](int number, NodeFabric& node) {
    if (number != 2) return;
    node.ports[3].state = PortState::Down;
    node.ports[3].state_since = kNow - std::chrono::minutes(4);  // such a port stays in lists
  };
  EXPECT_THAT(told(today(job_policy(), down)), ElementsAre("error RailDown worker-2"));
  EXPECT_THAT(texts_of(today(job_policy(), [](int, NodeFabric&) {}).answer.findings), IsEmpty());
}

TEST(JobAnswer, RanksThatLackARailAreNamedAlsoWhereTheyAreMost) {
  NcclPolicy policy = job_policy();
  policy.fabric.hcas = {"*"};
  AnsweredJob asked;
  for (int n = 0; n < 4; ++n) {
    Worker worker(n);
    worker.policy = policy;
    if (n != 2) {
      worker.node.ports[3].state = PortState::Down;
      worker.node.ports[3].state_since = kNow - std::chrono::hours(1);
    }
    asked.members.push_back(ask(worker.make(), all_readable(policy, worker.node)));
  }
  asked.answer = answer_job("train", asked.members);
  EXPECT_THAT(told(asked), ElementsAre("error MissingRail worker-0 worker-1 worker-3",
                                       "warning RailDown worker-0 worker-1 worker-3"));
}

TEST(JobAnswer, ANetworkThatAllHaveTurnedOffIsInTheFirstSentence) {
  std::vector<Json> all;
  for (int n = 0; n < 2; ++n) {
    Worker worker(n);
    worker.env = Json::array({env_literal("NCCL_IB_DISABLE", "1")});
    all.push_back(worker.make());
  }
  const AnsweredJob asked = ask_job(all);
  EXPECT_THAT(told(asked), ElementsAre("info UserListShort worker-0 worker-1"));
  EXPECT_THAT(
      asked.answer.sentence,
      testing::StartsWith("No rank of job train uses RDMA: NCCL_IB_DISABLE=1 turns InfiniBand and RoCE off"));
}

TEST(JobAnswer, ARankThatHasNotStartedHasNoValuesYet) {
  const AnsweredJob unscheduled = with_odd([](Worker& worker) {
    worker.bound = false;
    worker.then = [](Json& object) {
      object["spec"].erase("nodeName");
      object["status"] = {
          {"phase", "Pending"},
          {"conditions", Json::array({{{"type", "PodScheduled"},
                                       {"status", "False"},
                                       {"message", "0/4 nodes are available: 4 Insufficient rdma/hca."}}})}};
    };
  });
  EXPECT_THAT(told(unscheduled), IsEmpty());
  EXPECT_THAT(
      unscheduled.answer.sentence,
      testing::EndsWith("rank worker-2 has no node yet: 0/4 nodes are available: 4 Insufficient rdma/hca."));
  const AnsweredJob creating = with_odd([](Worker& worker) {
    worker.then = [](Json& object) {
      object["status"] = {
          {"phase", "Pending"},
          {"containerStatuses",
           Json::array({{{"name", "c"}, {"state", {{"waiting", {{"reason", "ContainerCreating"}}}}}}})}};
    };
  });
  EXPECT_THAT(creating.answer.sentence, testing::StartsWith("3 of 4 ranks of job train have their values"));
  EXPECT_THAT(creating.answer.sentence, testing::EndsWith("has not started yet (ContainerCreating)."));
}

TEST(JobAnswer, InfiniBandAndRoceDoNotConnect) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    for (Port& port : worker.node.ports) {
      port.link_layer = LinkLayer::InfiniBand;
      port.transport = Transport::InfiniBand;
    }
  });
  EXPECT_THAT(told(asked), testing::Contains("error MixedLinks worker-2"));
}

TEST(JobAnswer, OneHostIdOnSeveralNodesIsAnError) {
  std::vector<Json> all;
  for (int n = 0; n < 2; ++n) {
    Worker worker(n);
    worker.env = Json::array({env_literal("NCCL_HOSTID", "a")});
    all.push_back(worker.make());
  }
  EXPECT_THAT(told(ask_job(all)), ElementsAre("error ValueMisread worker-0 worker-1"));
}

TEST(JobAnswer, ValuesThatNcclTakesAlikeAreEqual) {
  const auto with = [](const char* name, const char* one, const char* other) {
    std::vector<Json> all;
    for (int n = 0; n < 2; ++n) {
      Worker worker(n);
      worker.env = Json::array({env_literal(name, n == 0 ? one : other)});
      all.push_back(worker.make());
    }
    return told(ask_job(all));
  };
  EXPECT_THAT(with("NCCL_ALGO", "Ring,Tree", "tree,ring"), IsEmpty());
  EXPECT_THAT(with("NCCL_ALGO", "^Ring,Tree", "^tree,ring"), testing::Not(IsEmpty())) << "not looked into";
  EXPECT_THAT(with("NCCL_ALGO", "Ring", "Tree"), testing::Not(IsEmpty()));
  EXPECT_THAT(
      told(with_odd([](Worker& worker) { worker.env = Json::array({env_literal("NCCL_IB_DISABLE", "0")}); })),
      IsEmpty());
}

TEST(JobAnswer, AnIndexOrAListOfOneRanksOwnIsToldWithoutATable) {
  const auto of = [](const char* name, const char* value) {
    return told(with_odd([&](Worker& worker) { worker.env = Json::array({env_literal(name, value)}); }));
  };
  EXPECT_THAT(of("NCCL_IB_GID_INDEX", "5"), testing::Contains("warning RankIndexDiffers worker-2"));
  EXPECT_THAT(of("NCCL_IB_HCA", "mlx5_1"), testing::Contains("warning OddNode worker-2"));
}

TEST(JobAnswer, OfTwoNetworksTheRarerOneIsTold) {
  const auto with = [](bool most) {
    std::vector<Json> all;
    for (int n = 0; n < 4; ++n) {
      Worker worker(n);
      worker.then = [&, n](Json& object) {
        const bool host = (n == 2) != most;
        object["spec"]["hostNetwork"] = host;
        Json status = Json::parse(object["metadata"]["annotations"]["nccl-env.io/status"].get<std::string>());
        if (!host) status["form"] = "ContainerStart";
        object["metadata"]["annotations"]["nccl-env.io/status"] = status.dump();
      };
      all.push_back(worker.make());
    }
    return ask_job(all).answer.sentence;
  };
  EXPECT_THAT(with(true), testing::HasSubstr("rank worker-2 on node gpu-2 is not on its node's network"));
  EXPECT_THAT(with(false), testing::HasSubstr("rank worker-2 on node gpu-2 is on its node's network"));
}

TEST(JobAnswer, ARankThatIsBeingDeletedIsInTheFirstSentence) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.then = [](Json& object) { object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; };
  });
  EXPECT_THAT(asked.answer.sentence, testing::EndsWith("rank worker-2 on node gpu-2 is being deleted."));
}

TEST(JobAnswer, PodsOfTwoJobsAreNoJob) {
  const auto of = [](const char* name) {
    Worker worker(0);
    worker.then = [name](Json& object) { object["metadata"]["labels"]["job-name"] = name; };
    return worker.make();
  };
  const auto several = [](const std::vector<Json>& pods) { return several_jobs(ask_job(pods).members); };
  Json llama = of("llama"), qwen = of("qwen");
  EXPECT_THAT(several({llama, qwen}), ElementsAre("llama", "qwen"));
  for (Json* pod : {&llama, &qwen}) (*pod)["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = "set";
  EXPECT_THAT(several({llama, qwen}), IsEmpty()) << "jobs of one JobSet";
}

TEST(JobAnswer, AListOfTheUsersOwnOnOneRankCountsAgainstTheOthers) {
  AnsweredJob asked;
  for (int n = 0; n < 4; ++n) {
    Worker worker(n);
    if (n == 2) worker.env = Json::array({env_literal("NCCL_IB_HCA", "=mlx5_1")});
    asked.members.push_back(ask(worker.make(), all_readable(job_policy(), worker.node)));
  }
  asked.answer = answer_job("train", asked.members);
  EXPECT_THAT(told(asked), ElementsAre("error MissingRail worker-2", "info UserListShort worker-2"));
}

TEST(JobAnswer, AConstantThatChangedMakesNoRankOdd) {
  NcclPolicy later = job_policy();
  later.env.emplace("NCCL_IB_TIMEOUT", "22");
  const AnsweredJob asked = today(later, [](int, NodeFabric&) {});
  EXPECT_THAT(told(asked), ElementsAre("info ChangedSinceBound worker-0 worker-1 worker-2 worker-3"));
  EXPECT_TRUE(is_good(asked.answer.findings));
  EXPECT_EQ(std::ranges::count(asked.answer.ranks, true, &JobRank::odd), 0);
}

TEST(JobAnswer, HcasOfAnotherKindAreAnOddNode) {
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.node = rails_node(8, 3, "gpu-2", "bnxt_re"); })),
              ElementsAre("warning OddNode worker-2"));
}

TEST(JobAnswer, AValueThatHasToBeEqualAndIsNot) {
  EXPECT_THAT(told(with_odd([](Worker& worker) {
                worker.env = Json::array(
                    {env_literal("NCCL_IB_QPS_PER_CONNECTION", "4"), env_literal("NCCL_DEBUG", "INFO")});
              })),
              ElementsAre("error ValuesDiffer worker-2"));
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.policy.env.clear(); })),
              ElementsAre("error ValuesDiffer worker-2"));
}

TEST(JobAnswer, ARankOfFewerNetworksIsTold) {
  std::vector<Json> objects;
  for (int n = 0; n < 4; ++n) {
    Json object = Worker(n).make();
    object["spec"]["hostNetwork"] = false;
    object["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = n == 2 ? "rail-0" : "rail-0,rail-1";
    objects.push_back(std::move(object));
  }
  EXPECT_THAT(texts_of(ask_job(objects).answer.findings),
              Contains("warning OddNode worker-2: asks for 1 secondary network where most ask for 2: without "
                       "ml/rail-1"));
}

TEST(JobAnswer, OfTwoRanksTheOneThatSetsAValueIsTheOddOne) {
  Worker other(1);
  other.env = Json::array({env_literal("NCCL_ALGO", "Ring"), env_literal("NCCL_CROSS_NIC", "2")});
  EXPECT_THAT(
      texts_of(ask_job({Worker(0).make(), other.make()}).answer.findings),
      ElementsAre("error ValuesDiffer worker-1: has NCCL_ALGO Ring, which has to be equal on all ranks: "
                  "not set on 1 rank, Ring on 1 rank"));
}

TEST(JobAnswer, ARankWithoutAPodIsInTheFirstSentence) {
  const auto of = [](const std::vector<int>& numbers) {
    std::vector<Json> objects;
    for (const int number : numbers) objects.push_back(Worker(number).make());
    return ask_job(objects).answer.sentence;
  };
  EXPECT_THAT(of({0, 1, 3}), EndsWith("have to. But there is no pod of rank worker-2."));
  EXPECT_THAT(of({1, 2, 3}), EndsWith("agree where they have to."));
  EXPECT_THAT(of({0, 1, 999999}), EndsWith("agree where they have to."));  // no number of a rank
}

TEST(JobAnswer, AnIndexOfTheUsersOwnIsSaidWhereNoTableTellsWhetherItIsRight) {
  std::vector<Json> objects;
  for (int n = 0; n < 2; ++n) {
    Worker worker(n);
    worker.env = Json::array({env_literal("NCCL_IB_GID_INDEX", "1")});
    objects.push_back(worker.make());
  }
  EXPECT_THAT(ask_job(objects).answer.sentence,
              EndsWith("But NCCL_IB_GID_INDEX=1 is the user's own on 2 ranks, and no table tells whether it "
                       "is right."));
}

TEST(JobAnswer, AValueThatOneRankTakesFromElsewhereIsInTheFirstSentence) {
  const AnsweredJob asked = with_odd(
      [](Worker& worker) { worker.env = Json::array({env_literal("NCCL_ALGO", "$(ALGO_SERVICE_HOST)")}); });
  EXPECT_THAT(asked.answer.sentence,
              EndsWith("But NCCL_ALGO of rank worker-2 is not in the pod's text, and was not compared."));
}

TEST(JobAnswer, ARankThatDoesNotAskForTheDevicesOfTheOthersIsToldWhich) {
  std::vector<Json> objects;
  for (int n = 0; n < 3; ++n) {
    Worker worker(n);
    worker.admitted = worker.bound = n != 2;
    Json object = worker.make();
    Json& limits = object["spec"]["containers"][0]["resources"]["limits"];
    limits["nvidia.com/gpu"] = "8";
    if (n == 2) limits.erase("rdma/hca");
    objects.push_back(object);
  }
  EXPECT_THAT(texts_of(ask_job(objects).answer.findings),
              ElementsAre("warning OddNode worker-2: got nothing from nccl-env, which gave others of the job "
                          "their values: it does not ask for rdma/hca, as they do"));
}

TEST(JobAnswer, MissedAtBindingIsAnErrorOfThatRankAlone) {
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.bound = false; })),
              ElementsAre("error MissedAtBinding worker-2"));
}

TEST(JobAnswer, ValuesOfAnotherNodeAreAnError) {
  const AnsweredJob asked = with_odd(
      [](Worker& worker) { worker.then = [](Json& object) { object["spec"]["nodeName"] = "elsewhere"; }; });
  EXPECT_THAT(told(asked), ElementsAre("error Foreign worker-2"));
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
  EXPECT_THAT(told(ask_job(bound)), ElementsAre("warning NoList worker-0 worker-1"));
  EXPECT_THAT(told(ask_job(waiting)), IsEmpty());
  Worker without(0);
  without.policy.hca.kind = HcaRule::Kind::Omit;
  EXPECT_THAT(told(ask_job({without.make()})), IsEmpty());
}

TEST(JobAnswer, MissedAtAdmissionIsSeenBesideTheOthers) {
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.admitted = worker.bound = false; })),
              ElementsAre("error MissedAtAdmission worker-2"));
}

TEST(JobAnswer, ALauncherIsNoRank) {
  Json launcher = pod({container("c", {}, "")});
  launcher["metadata"]["name"] = "train-launcher";
  launcher["metadata"]["labels"]["training.kubeflow.org/job-role"] = "launcher";
  const AnsweredJob asked = ask_job({Worker(0).make(), Worker(1).make(), launcher});
  EXPECT_THAT(told(asked), IsEmpty());
  EXPECT_EQ(asked.answer.ranks.front().name, "launcher");
}

TEST(JobAnswer, AnOptedOutPodWasNotMissed) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.admitted = worker.bound = false;
    worker.then = [](Json& object) { object["metadata"]["labels"]["nccl-env.io/inject"] = "false"; };
  });
  EXPECT_THAT(told(asked), ElementsAre("warning OddNode worker-2"));
}

TEST(JobAnswer, ANodeThatCannotGiveWhatOthersGive) {
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.node.ports[1].gids->back().index = 7; })),
              ElementsAre("warning OddNode worker-2"));
}

TEST(JobAnswer, AnotherGidIndexIsToldAndIsNoFault) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    for (Port& port : worker.node.ports) port.gids->back().index = 5;
  });
  EXPECT_THAT(told(asked), ElementsAre("info RankIndexDiffers worker-2"));
  EXPECT_TRUE(is_good(asked.answer.findings));
}

TEST(JobAnswer, GenerationsThatDiffer) {
  EXPECT_THAT(told(with_odd([](Worker& worker) { worker.policy = job_policy(4); })),
              ElementsAre("warning PolicyDiffers worker-2"));
}

TEST(JobAnswer, TwoRanksOfOneNodeWithOtherValues) {
  const AnsweredJob asked = with_odd([](Worker& worker) {
    worker.node.name = "gpu-1";
    for (Port& port : worker.node.ports) port.gids->back().index = 5;
  });
  EXPECT_THAT(told(asked), Contains("warning NodeValuesDiffer worker-1 worker-2"));
}

TEST(JobAnswer, ARankThatDoesNotRunIsInTheFirstSentence) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"containerStatuses": [{"name": "c", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
           "lastState": {"terminated": {"exitCode": 139}}}]})",
       "Container c is in CrashLoopBackOff (restarts: 7, exit code 139)."},
      {R"({"phase": "Failed",
           "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]})",
       "Container c has failed (OOMKilled, exit code 137)."},
      {R"({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]})",
       "Container i cannot start (ImagePullBackOff)."},
      {R"({"phase": "Failed", "reason": "Evicted"})", "The pod has failed (Evicted)."}};
  for (const auto& one : cases) {
    const AnsweredJob asked = with_odd([&](Worker& worker) {
      worker.then = [&](Json& object) { object["status"].update(Json::parse(one.first)); };
    });
    EXPECT_THAT(asked.answer.sentence,
                testing::StartsWith(
                    "1 of 4 ranks of job train needs attention: rank worker-2 on node gpu-2: " + one.second));
    EXPECT_THAT(told(asked), ElementsAre("warning PodFailed worker-2"));
  }
}

TEST(JobAnswer, AnAttemptThatFailedIsForgottenOnceAnotherRuns) {
  const auto attempt = [](const char* name, const char* phase) {
    Worker worker(2);
    worker.then = [name, phase](Json& object) {
      object["metadata"]["name"] = name;
      object["status"]["phase"] = phase;
    };
    return worker.make();
  };
  const auto others = [&](Json one, Json other) {
    return told(ask_job({Worker(0).make(), Worker(1).make(), std::move(one), std::move(other)}));
  };
  EXPECT_THAT(others(attempt("w-2-a", "Failed"), attempt("w-2-b", "Running")), IsEmpty());
  EXPECT_THAT(others(attempt("w-2-a", "Failed"), attempt("w-2-b", "Succeeded")), IsEmpty());
  EXPECT_THAT(others(attempt("w-2-a", "Failed"), attempt("w-2-b", "Failed")),
              ElementsAre("warning PodFailed w-2-a w-2-b"));
}

TEST(JobAnswer, ATableThatChangedSinceItWasBound) {
  PodSurroundings around;
  around.context.now = kNow;
  around.policy = std::make_shared<const NcclPolicy>(job_policy());
  around.table_known = true;
  around.table = std::make_shared<const NodeFabric>(rails_node(4, 3, "gpu"));
  const AnsweredJob asked = with_odd([](Worker&) {}, around);
  EXPECT_THAT(told(asked), ElementsAre("error NoSuchDevice worker-0 worker-1 worker-2 worker-3",
                                       "warning ChangedSinceBound worker-0 worker-1 worker-2 worker-3"));
}

TEST(JobAnswer, RanksThatFinishedAreNotComparedWhileOthersRun) {
  const auto finished = [](Worker& worker) {
    worker.bound = false;
    worker.then = [](Json& object) { object["status"]["phase"] = "Failed"; };
  };
  EXPECT_THAT(told(with_odd(finished)), IsEmpty());  // what a failed pod lacked is no longer of interest
  Worker alone(0);
  finished(alone);
  EXPECT_THAT(told(ask_job({alone.make()})), ElementsAre("error MissedAtBinding worker-0"));
}

TEST(JobAnswer, NothingGivenToAnybody) {
  Worker bare(0);
  bare.admitted = bare.bound = false;
  EXPECT_THAT(told(ask_job({bare.make()})), IsEmpty());
  EXPECT_THAT(told(ask_job({})), IsEmpty());
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
        Json::array({env_literal("NCCL_IB_QPS_PER_CONNECTION", std::to_string(n) + std::string(500, '0'))});
    objects.push_back(worker.make());
  }
  const AnsweredJob asked = ask_job(objects);
  EXPECT_EQ(asked.answer.findings.size(), 18u) << "each differs, and is out of bounds";
  for (const Finding& finding : asked.answer.findings) EXPECT_LT(finding.sentence.size(), 400u);
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
