// SPDX-License-Identifier: Apache-2.0
// explain job/NAME: what has to be equal and isn't, and which rank is the odd one; all from the pods.
#include "nccl_env/judge/explain/job.h"

#include <functional>

#include "core/conf_pods.h"
#include "judge/asked.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env::job_test {
namespace {

using namespace nccl_env::tests;

NcclPolicy job_policy(std::int64_t generation = 3) {
  NcclPolicy policy;
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
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

using Change = std::function<void(Worker&)>;

std::vector<Json> workers(int count, const Change& change) {
  std::vector<Json> objects;
  for (int n = 0; n < count; ++n) {
    Worker worker(n);
    change(worker);
    objects.push_back(worker.make());
  }
  return objects;
}

// Four workers, the third of which is as the test makes it.
AnsweredJob with_odd(const Change& change, const PodSurroundings& around = {}) {
  return ask_job(workers(4, [&](Worker& worker) { worker.number == 2 ? change(worker) : void(); }), around);
}

Change with_env(const char* name, const char* value) {
  return [=](Worker& worker) { worker.env = Json::array({env_literal(name, value)}); };
}

Change then(const std::function<void(Json&)>& change) {
  return [=](Worker& worker) { worker.then = change; };
}

Change with_status(const char* status) {
  return then([=](Json& object) { object["status"].update(Json::parse(status)); });
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

// Four workers, and what their nodes are like today.
AnsweredJob today(
    const NcclPolicy& policy_today, const Change& change, const Change& later = [](Worker&) {}) {
  AnsweredJob asked;
  for (int n = 0; n < 4; ++n) {
    Worker worker(n);
    change(worker);
    const Json object = worker.make();
    later(worker);
    asked.members.push_back(ask(object, all_readable(policy_today, worker.node)));
  }
  asked.answer = answer_job("train", asked.members);
  return asked;
}

// Such a port stays in lists.
void take_a_rail_down(Worker& worker, std::chrono::minutes ago) {
  worker.node.ports[3].state = PortState::Down;
  worker.node.ports[3].state_since = kNow - ago;
}

TEST(JobAnswer, ARailThatWentDownUnderTheJobIsTheAnswerAndItsRankComesFirst) {
  const Change as_it_is = [](Worker&) {}, down = [](Worker&worker) {
    if (worker.number == 2) take_a_rail_down(worker, std::chrono::minutes(4));
  };
  EXPECT_THAT(told(today(job_policy(), as_it_is, down)), ElementsAre("error RailDown worker-2"));
  const Change slow = [](Worker& worker) {
    if (worker.number != 2) return;
    worker.node.ports[3].rate_gbps = 100;
    worker.node.ports[3].max_rate_gbps = 400;
  };
  EXPECT_THAT(told(today(job_policy(), as_it_is, slow)), ElementsAre("warning RateLow worker-2"));
  EXPECT_THAT(texts_of(today(job_policy(), as_it_is).answer.findings), IsEmpty());
}

// Each rail has an address of storage beside the one of compute; the first of them has index 3, the other 5.
void give_two_networks(Worker& worker, bool storage_first) {
  worker.node.interfaces.emplace();
  for (std::size_t i = 0; i < worker.node.ports.size(); ++i) {
    const std::string end = "." + std::to_string(i) + "." + std::to_string(worker.number + 1);
    const std::string netdev = "eth" + std::to_string(i), compute = "10.1" + end, storage = "172.16" + end;
    Port& port = worker.node.ports[i];
    port.gids = usual_rows(storage_first ? storage : compute, netdev);
    port.gids->push_back(row(5, v4(storage_first ? compute : storage), GidType::RoCEv2, netdev));
    worker.node.interfaces->push_back(interface(netdev, compute, 24));
    worker.node.interfaces->back().addresses->push_back({v4(storage).address(), 24});
  }
}

TEST(JobAnswer, RowsOfAnotherNetworkAreToldWhateverTheirIndex) {
  NcclPolicy policy = job_policy();
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  const auto asked = [&](const Change& change) {
    return today(policy, [&](Worker& w) {
      w.policy = policy;
      change(w);
    });
  };
  const AnsweredJob odd = asked([](Worker& w) { give_two_networks(w, w.number == 2); });
  EXPECT_THAT(told(odd), ElementsAre("warning RankRowDiffers worker-2"));
  EXPECT_EQ(odd.answer.findings.front().sentence,
            "uses row 3 of mlx5_1 in 172.16.0.0/24, where others use one in 10.1.0.0/24");
  EXPECT_THAT(told(asked([](Worker& w) { give_two_networks(w, false); })), IsEmpty());
  EXPECT_THAT(told(asked([](Worker& w) {
                give_two_networks(w, w.number == 2);
                if (w.number == 2) w.env = Json::array({env_literal("NCCL_IB_GID_INDEX", "5")});
              })),
              Not(Contains(HasSubstr("RankRowDiffers"))))
      << "another index, the same network";
  EXPECT_THAT(told(asked([](Worker& w) {
                give_two_networks(w, false);
                for (Port& port : w.node.ports) port.gids->resize(4);
                for (Interface& each : *w.node.interfaces) each.addresses->front().prefix = 31;
              })),
              IsEmpty())
      << "a link of its own for each port, as routed fabrics have";
}

TEST(JobAnswer, RanksThatLackARailAreNamedAlsoWhereTheyAreMost) {
  NcclPolicy policy = job_policy();
  policy.fabric.hcas = {"*"};
  EXPECT_THAT(told(today(policy,
                         [&](Worker& worker) {
                           worker.policy = policy;
                           if (worker.number != 2) take_a_rail_down(worker, std::chrono::hours(1));
                         })),
              ElementsAre("error MissingRail worker-0 worker-1 worker-3",
                          "warning RailDown worker-0 worker-1 worker-3"));
}

TEST(JobAnswer, WhereNcclFindsTheRowNoIndexIsMissing) {
  NcclPolicy policy = job_policy();
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  const auto with = [&](const std::function<void(Port&)>& change) {
    return told(today(policy, [&](Worker& worker) {
      worker.policy = policy;
      for (Port& port : worker.node.ports) {
        if (worker.number == 2) change(port);
      }
    }));
  };
  EXPECT_THAT(with([](Port&) {}), IsEmpty());
  const auto needs_a_pin = [](Port& port) {
    port.gids->insert(port.gids->begin(), row(1, v4("169.254.3.4"), GidType::RoCEv2, "eth1"));
  };
  EXPECT_THAT(with(needs_a_pin), IsEmpty());
  const auto infiniband = [](Port& port) {
    port.link_layer = LinkLayer::InfiniBand;
    port.transport = Transport::InfiniBand;
  };
  EXPECT_THAT(with(infiniband), ElementsAre("error MixedLinks worker-2"));
}

struct Told {
  const char* name;
  Change change;
  std::vector<std::string> codes;
};

TEST(JobAnswer, ARankThatIsNotLikeTheOthersIsTold) {
  const Told rows[] = {
      {"missed at Binding", [](Worker& w) { w.bound = false; }, {"error MissedAtBinding worker-2"}},
      {"missed at admission",
       [](Worker& w) { w.admitted = w.bound = false; },
       {"error MissedAtAdmission worker-2"}},
      {"opted out",
       [](Worker& w) {
         w.admitted = w.bound = false;
         w.then = [](Json& object) { object["metadata"]["labels"]["nccl-env.io/inject"] = "false"; };
       },
       {"warning OddNode worker-2"}},
      {"values of another node",
       then([](Json& object) { object["spec"]["nodeName"] = "elsewhere"; }),
       {"error Foreign worker-2"}},
      {"HCAs of another kind",
       [](Worker& w) { w.node = rails_node(8, 3, "gpu-2", "bnxt_re"); },
       {"warning OddNode worker-2"}},
      {"InfiniBand beside RoCE",
       [](Worker& w) {
         for (Port& port : w.node.ports) {
           port.link_layer = LinkLayer::InfiniBand;
           port.transport = Transport::InfiniBand;
         }
       },
       {"error MixedLinks worker-2"}},
      {"a node without one GID index",
       [](Worker& w) { w.node.ports[1].gids->back().index = 7; },
       {"warning OddNode worker-2"}},
      {"another GID index",
       [](Worker& w) {
         for (Port& port : w.node.ports) port.gids->back().index = 5;
       },
       {}},
      {"other values than another rank of its node",
       [](Worker& w) {
         w.node.name = "gpu-1";
         for (Port& port : w.node.ports) port.gids->back().index = 5;
       },
       {"warning NodeValuesDiffer worker-1 worker-2"}},
      {"an index of its own, and no table", with_env("NCCL_IB_GID_INDEX", "5"), {}},
      {"a list of its own", with_env("NCCL_IB_HCA", "mlx5_1"), {"warning OddNode worker-2"}},
      {"another value", with_env("NCCL_IB_QPS_PER_CONNECTION", "4"), {"error ValuesDiffer worker-2"}},
      {"no value", [](Worker& w) { w.policy.env.clear(); }, {"error ValuesDiffer worker-2"}},
      {"a value that may differ", with_env("NCCL_DEBUG", "INFO"), {}},
      {"a default as a value", with_env("NCCL_IB_DISABLE", "0"), {}},
      {"a value from elsewhere", with_env("NCCL_ALGO", "$(ALGO_SERVICE_HOST)"), {}},
      {"another generation", [](Worker& w) { w.policy = job_policy(4); }, {"warning PolicyDiffers worker-2"}},
      {"being deleted",
       then([](Json& object) { object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; }),
       {}},
      {"unscheduled",
       [](Worker& w) {
         w.bound = false;
         w.then = [](Json& object) {
           object["spec"].erase("nodeName");
           object["status"] = Json::parse(
               R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                   "message": "0/4 nodes are available: 4 Insufficient rdma/hca."}]})");
         };
       },
       {}},
      {"not yet started",
       with_status(R"({"phase": "Pending", "containerStatuses":
                       [{"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}]})"),
       {}},
      {"restarting",
       with_status(R"({"containerStatuses": [{"name": "c", "restartCount": 7,
                       "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                       "lastState": {"terminated": {"exitCode": 139}}}]})"),
       {"warning PodFailed worker-2"}},
      {"killed",
       with_status(R"({"phase": "Failed", "containerStatuses":
                       [{"name": "c", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]})"),
       {"warning PodFailed worker-2"}},
      {"no image",
       with_status(R"({"initContainerStatuses":
                       [{"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]})"),
       {"warning PodFailed worker-2"}},
      {"evicted", with_status(R"({"phase": "Failed", "reason": "Evicted"})"), {"warning PodFailed worker-2"}},
      {"failed without what is no longer of interest",
       [](Worker& w) {
         w.bound = false;
         w.then = [](Json& object) { object["status"]["phase"] = "Failed"; };
       },
       {}}};
  for (const Told& row : rows) {
    SCOPED_TRACE(row.name);
    const AnsweredJob asked = with_odd(row.change);
    EXPECT_THAT(told(asked, row.name), ElementsAreArray(row.codes));
    EXPECT_EQ(is_good(asked.answer.findings), std::ranges::all_of(row.codes, [](const std::string& code) {
                return code.starts_with("info ");
              }));
  }
}

TEST(JobAnswer, OfTwoRanksBothAreTold) {
  const auto apart = [](const char* name, const char* one, const char* other) -> Change {
    return [=](Worker& w) { w.env = Json::array({env_literal(name, w.number == 0 ? one : other)}); };
  };
  const Told rows[] = {
      {"no network", with_env("NCCL_IB_DISABLE", "1"), {"info UserListShort worker-0 worker-1"}},
      {"one host ID on two nodes", with_env("NCCL_HOSTID", "a"), {"error ValueMisread worker-0 worker-1"}},
      {"an index of the user's own, and no table", with_env("NCCL_IB_GID_INDEX", "1"), {}},
      {"one list in another order", apart("NCCL_ALGO", "Ring,Tree", "tree,ring"), {}},
      {"one HCA named twice", apart("NCCL_IB_HCA", "=mlx5_1,mlx5_1", "=mlx5_1"), {}},
      {"exclusions are not looked into",
       apart("NCCL_ALGO", "^Ring,Tree", "^tree,ring"),
       {"error ValuesDiffer worker-0", "error ValuesDiffer worker-1"}},
      {"two lists",
       apart("NCCL_ALGO", "Ring", "Tree"),
       {"error ValuesDiffer worker-0", "error ValuesDiffer worker-1"}},
      {"one sets values",
       [](Worker& w) {
         if (w.number == 1)
           w.env = Json::array({env_literal("NCCL_ALGO", "Ring"), env_literal("NCCL_CROSS_NIC", "2")});
       },
       {"error ValuesDiffer worker-1"}},
      {"nodes without ports", [](Worker& w) { w.node.ports.clear(); }, {"warning NoList worker-0 worker-1"}},
      {"no node yet",
       [](Worker& w) {
         w.bound = false;
         w.then = [](Json& object) { object["spec"].erase("nodeName"); };
       },
       {}},
      {"no list by the policy", [](Worker& w) { w.policy.hca.kind = HcaRule::Kind::Omit; }, {}},
      {"nothing given to anybody", [](Worker& w) { w.admitted = w.bound = false; }, {}},
      {"both failed",
       [](Worker& w) {
         w.bound = false;
         w.then = [](Json& object) { object["status"]["phase"] = "Failed"; };
       },
       {"error MissedAtBinding worker-0 worker-1"}}};
  for (const Told& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_THAT(told(ask_job(workers(2, row.change)), row.name), ElementsAreArray(row.codes));
  }
  EXPECT_THAT(told(ask_job({})), IsEmpty());
}

TEST(JobAnswer, OfTwoNetworksTheRarerOneIsTold) {
  const auto with = [](bool most) {
    return ask_job(workers(4,
                           [&](Worker& worker) {
                             worker.then = [host = (worker.number == 2) != most](Json& object) {
                               object["spec"]["hostNetwork"] = host;
                               if (!host) object["spec"]["initContainers"] = {{{"name", "nccl-env-resolve"}}};
                             };
                           }))
        .answer.sentence;
  };
  EXPECT_THAT(with(true), HasSubstr("rank worker-2 on node gpu-2 is not on its node's network"));
  EXPECT_THAT(with(false), HasSubstr("rank worker-2 on node gpu-2 is on its node's network"));
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
  const Change own = [](Worker& worker) {
    if (worker.number == 2) worker.env = Json::array({env_literal("NCCL_IB_HCA", "=mlx5_1")});
  };
  EXPECT_THAT(told(today(job_policy(), own)),
              ElementsAre("error MissingRail worker-2", "info UserListShort worker-2"));
}

TEST(JobAnswer, AConstantThatChangedMakesNoRankOdd) {
  NcclPolicy later = job_policy();
  later.env.emplace("NCCL_IB_TIMEOUT", "22");
  const AnsweredJob asked = today(later, [](Worker&) {});
  EXPECT_THAT(told(asked), ElementsAre("info ChangedSinceBound worker-0 worker-1 worker-2 worker-3"));
  EXPECT_TRUE(is_good(asked.answer.findings));
  EXPECT_EQ(std::ranges::count(asked.answer.ranks, true, &JobRank::odd), 0);
}

TEST(JobAnswer, ARankOfFewerNetworksIsTold) {
  const std::vector<Json> objects = workers(4, [](Worker& worker) {
    worker.then = [odd = worker.number == 2](Json& object) {
      object["spec"]["hostNetwork"] = false;
      object["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = odd ? "rail-0" : "rail-0,rail-1";
    };
  });
  EXPECT_THAT(texts_of(ask_job(objects).answer.findings),
              Contains("warning OddNode worker-2: asks for 1 secondary network where most ask for 2: without "
                       "ml/rail-1"));
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

TEST(JobAnswer, ARankThatDoesNotAskForTheDevicesOfTheOthersIsToldWhich) {
  const std::vector<Json> objects = workers(3, [](Worker& worker) {
    const bool odd = worker.number == 2;
    worker.admitted = worker.bound = !odd;
    worker.then = [odd](Json& object) {
      Json& limits = object["spec"]["containers"][0]["resources"]["limits"];
      limits["nvidia.com/gpu"] = "8";
      if (odd) limits.erase("rdma/hca");
    };
  });
  EXPECT_THAT(texts_of(ask_job(objects).answer.findings),
              ElementsAre("warning OddNode worker-2: got nothing from nccl-env, which gave others of the job "
                          "their values: it does not ask for rdma/hca, as they do"));
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
  Json launcher = pod({container("c", {}, "")});
  launcher["metadata"]["name"] = "train-launcher";
  launcher["metadata"]["labels"]["training.kubeflow.org/job-role"] = "launcher";
  const AnsweredJob launched = ask_job({Worker(0).make(), Worker(1).make(), launcher});
  EXPECT_THAT(told(launched), IsEmpty()) << "it is no rank";
  EXPECT_EQ(launched.answer.ranks.front().name, "launcher");
}

TEST(JobAnswer, AsManyValuesAsRanksStayShort) {
  const AnsweredJob asked = ask_job(workers(9, [](Worker& worker) {
    const std::string value = std::to_string(worker.number) + std::string(500, '0');
    with_env("NCCL_IB_QPS_PER_CONNECTION", value.c_str())(worker);
  }));
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

// Where the ranks' values come by /etc/nccl.conf.
const Json kFound = said({{"NCCL_IB_GID_INDEX", "3"}, {"NCCL_IB_HCA", "=mlx5_1,mlx5_2"}});

// The pod worker-N on gpu-N that finds its values itself.
Json worker(int number, const Json& state, Exposure exposure = Exposure::SubInterface, bool at_start = true) {
  NcclPolicy policy = policy_for("rdma/hca*", exposure);
  policy.env = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}};
  Json object =
      admit(pod({container("c")}, false), policy, nullptr, at_start ? with_resolver() : PlanOptions()).pod;
  object["metadata"]["name"] = "worker-" + std::to_string(number);
  object["spec"]["nodeName"] = "gpu-" + std::to_string(number);
  object["status"]["initContainerStatuses"] = Json::array({{{"name", "nccl-env-resolve"}, {"state", state}}});
  return object;
}

AnsweredJob with_odd(const Json& odd) {
  return ask_job({worker(0, kFound), worker(1, kFound), odd, worker(3, kFound)});
}

TEST(JobForms, ARankThatDidNotFindWhatOthersDidIsOdd) {
  EXPECT_THAT(told(with_odd(worker(2, said({{"NCCL_IB_GID_INDEX", "3"}, {"NCCL_IB_HCA", "=mlx5_1"}})))),
              ElementsAre("error MissingRail worker-2"));
  const Json no_index = said({{"NCCL_IB_HCA", "=mlx5_1,mlx5_2"}},
                             {left_out("NCCL_IB_GID_INDEX", Reason::GidTableUnknown, "None.")});
  EXPECT_THAT(told(with_odd(worker(2, no_index))), ElementsAre("warning OddNode worker-2"));
  EXPECT_THAT(told(with_odd(worker(2, said("", 1)))), ElementsAre("error HeldBack worker-2"));
  EXPECT_THAT(told(with_odd(worker(2, said({}, {}, {"PolicyInvalid: none"})))),
              ElementsAre("warning LookFailed worker-2"));
}

TEST(JobForms, DevicesOfAPodsOwnAreComparedByNumber) {
  const auto own = [](int number, const std::string& hcas) {
    return worker(number, said({{"NCCL_IB_HCA", "=" + hcas}}), Exposure::PodOwned);
  };
  EXPECT_THAT(texts_of(ask_job({own(0, "mlx5_3"), own(1, "mlx5_3"), own(2, "mlx5_9")}).answer.findings),
              IsEmpty());
  EXPECT_THAT(told(ask_job({own(0, "mlx5_3,mlx5_4"), own(1, "mlx5_3,mlx5_4"), own(2, "mlx5_9")})),
              ElementsAre("error MissingRail worker-2"));
}

}  // namespace
}  // namespace nccl_env::job_test
