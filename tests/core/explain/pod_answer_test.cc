// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME: what is told of a pod, from the pod alone and from what else could be read.
#include "nccl_env/core/explain/pod_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/asked.h"

namespace nccl_env::pod_answer_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

NcclPolicy rdma_policy(std::int64_t generation = 1) {
  NcclPolicy policy;
  policy.name = "p";
  policy.generation = generation;
  policy.resources = {{"rdma/hca", Exposure::Host}};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

// As the webhook makes it.
Json admitted(const NcclPolicy& policy, std::vector<Json> containers = {container("c")}) {
  return admit(pod(std::move(containers)), policy).pod;
}

std::vector<std::string> changes_of(const Answered& asked) {
  std::vector<std::string> texts;
  for (const Change& change : asked.answer.changes)
    texts.push_back(change.now.name + " " + change.then.value_or("-") + " " + change.now.value.value_or("-") +
                    " " + std::string(change.now.reason ? to_string(*change.now.reason) : ""));
  return texts;
}

TEST(PodAnswer, AnIndexThatTheNodeNoLongerHasIsAFinding) {
  const NodeFabric table = rails_node(2);
  const Json object = bound(admitted(rdma_policy()), rdma_policy(), &table);
  NodeFabric today = table;
  today.ports[1].gids->back().index = 5;
  today.ports[1].gids->back().index_since = kNow;
  const Answered asked = ask(object, all_readable(rdma_policy(), today));
  EXPECT_FALSE(asked.answer.findings.empty());
  EXPECT_THAT(
      asked.answer.notes,
      Contains("GID index 3 is gone from mlx5_2 (10.0.2.1 has 5 since 2026-11-20T08:00:00Z) since the "
               "pod was bound: new connections fail."));
  today.ports[1].state = PortState::Down;
  EXPECT_THAT(ask(object, all_readable(rdma_policy(), today)).answer.notes,
              Not(Contains(HasSubstr("is gone"))))
      << "NCCL leaves a port that is down out by itself";
  today.ports[1].state = PortState::Active;
  today.ports[1].gids.reset();
  EXPECT_THAT(ask(object, all_readable(rdma_policy(), today)).answer.notes,
              Not(Contains(HasSubstr("is gone"))))
      << "not known";
}

TEST(PodAnswer, AnIndexThatWasNotPinnedCannotBeGone) {
  NcclPolicy policy = rdma_policy();
  policy.min_nccl = NcclVersion{2, 21, 5};
  const NodeFabric table = rails_node(2);
  const Json object = bound(admitted(policy), policy, &table);
  NodeFabric today = table;
  today.ports[1].gids->back().index = 5;
  const Answered asked = ask(object, all_readable(policy, today));
  EXPECT_TRUE(asked.answer.findings.empty());
  EXPECT_THAT(asked.text(),
              HasSubstr("    NCCL_IB_GID_INDEX   -       OmittedByPolicy: gpu-1: NCCL's own search ends"));
  EXPECT_THAT(asked.answer.changes, IsEmpty());
  EXPECT_EQ(asked.answer.nccl_with_us->ports.at(1).gid_index, 5);
}

TEST(PodAnswer, AHealthyPodTellsItsValuesAndTheirSourcesByItself) {
  const NodeFabric table = rails_node(2);
  const Answered asked = ask(bound(admitted(rdma_policy()), rdma_policy(), &table));
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_TRUE(asked.answer.findings.empty());
  EXPECT_THAT(asked.text(),
              AllOf(HasSubstr("pod ml/p\n  answer    given. The pod has what policy p gives it.\n"),
                    HasSubstr("  from      policy p, generation 1; table of 2026-11-20T08:00:00Z\n"),
                    HasSubstr("    NCCL_IB_HCA        File    =mlx5_1,mlx5_2\n"),
                    HasSubstr("    NCCL_IB_GID_INDEX  File    3\n"),
                    HasSubstr("    NCCL_IB_TIMEOUT     Policy  22\n"),
                    HasSubstr("    NCCL_SOCKET_IFNAME  -       OmittedByPolicy: The policy leaves"),
                    Not(HasSubstr("NCCL_IB_ADDR_FAMILY")), Not(HasSubstr("alone"))));
  EXPECT_EQ(render_env(asked.record),
            "NCCL_IB_TIMEOUT=22\n# of /etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
}

TEST(PodAnswer, TheNodesReasonAndItsRemedyAreTold) {
  NodeFabric table = rails_node(2);
  table.ports[1].gids->back().index = 5;
  const Answered asked = ask(bound(admitted(rdma_policy()), rdma_policy(), &table));
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_THAT(asked.text(),
              AllOf(HasSubstr("some values it can't"), HasSubstr("GidNotUniform: No single index"),
                    HasSubstr("make the ports' addresses alike")));
  const Answered with_table =
      ask(bound(admitted(rdma_policy()), rdma_policy(), &table), all_readable(rdma_policy(), table));
  EXPECT_THAT(with_table.text(),
              AllOf(HasSubstr("GidNotUniform: gpu-1: "), Not(HasSubstr("No single index"))));
  EXPECT_TRUE(with_table.answer.findings.empty());
}

TEST(PodAnswer, WithTheTableItTellsWhatNcclAloneWouldChoose) {
  NodeFabric table = rails_node(2);
  table.ports.push_back(roce_port("mlx5_9", "eth9", "192.168.0.1"));
  table.ports.back().board_id = "other";
  table.ports.back().rate_gbps = 25;
  const Answered asked =
      ask(bound(admitted(rdma_policy()), rdma_policy(), &table), all_readable(rdma_policy(), table));
  ASSERT_TRUE(asked.answer.nccl_alone && asked.answer.nccl_with_us);
  EXPECT_EQ(asked.answer.nccl_alone->ports.size(), 3u);
  EXPECT_EQ(asked.answer.nccl_with_us->ports.size(), 2u);
  EXPECT_THAT(changes_of(asked), IsEmpty());
}

TEST(PodAnswer, APodWithoutANodeTellsWhatItWaitsFor) {
  Json object = admitted(rdma_policy());
  EXPECT_THAT(ask(object).answer.sentence, HasSubstr("come with the Binding; the pod has no node yet"));
  object["status"]["conditions"] = {
      {{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/3 nodes fit"}}};
  const Answered asked = ask(object);
  EXPECT_EQ(asked.answer.state, PodState::WaitingForNode);
  EXPECT_TRUE(asked.answer.findings.empty());
  EXPECT_THAT(asked.answer.sentence, HasSubstr(": 0/3 nodes fit"));
  EXPECT_THAT(asked.text(), HasSubstr("NCCL_IB_HCA          File    (known once the node is)"));
  object["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
  EXPECT_THAT(ask(object).answer.sentence, HasSubstr("gate 'kueue.x-k8s.io/admission' is closed"));
}

TEST(PodAnswer, APodThatDenyHoldsIsAFindingWithTheRefusalsSentence) {
  PodSurroundings around;
  around.events = {
      "error binding pod: admission webhook \"binding.nccl-env.io\" denied the request: nccl-env: node gpu-1 "
      "gives "
      "no values (NoTable)"};
  const Answered asked = ask(admitted(rdma_policy()), around);
  EXPECT_FALSE(asked.answer.findings.empty());
  EXPECT_EQ(asked.answer.sentence,
            "The pod is held back, because its policy says onUnresolved: Deny. nccl-env: node gpu-1 gives no "
            "values "
            "(NoTable)");
  around.events = {"failed calling webhook \"binding.nccl-env.io\": connection refused"};
  EXPECT_THAT(ask(admitted(rdma_policy()), around).answer.sentence, HasSubstr("no webhook answers"));
}

TEST(PodAnswer, MissedAtBindingIsSeenInThePodAlone) {
  Json object = admitted(rdma_policy());
  object["spec"]["nodeName"] = "gpu-1";
  const Answered asked = ask(object);
  EXPECT_EQ(asked.answer.state, PodState::MissedAtBinding);
  EXPECT_FALSE(asked.answer.findings.empty());
  EXPECT_THAT(asked.text(),
              AllOf(HasSubstr("its annotation has no text"), HasSubstr("create it from its own")));
}

TEST(PodAnswer, WhyABindingBroughtNothingIsTold) {
  Json object = admitted(rdma_policy());
  object["spec"]["nodeName"] = "gpu-1";
  EXPECT_THAT(ask(object).answer.sentence, HasSubstr("no webhook answered for the Binding"));
  PodSurroundings around;
  around.namespace_policy = "";
  EXPECT_THAT(ask(object, around).answer.sentence, HasSubstr("has lost the label nccl-env.io/policy"));
  NcclPolicy dry = rdma_policy();
  dry.mode = PolicyMode::DryRun;
  EXPECT_THAT(ask(object, opted_in(dry)).answer.sentence,
              HasSubstr("policy p is in mode DryRun, or no webhook"));
  around = opted_in(rdma_policy());
  around.policy.reset();
  around.policy_problem = Reason::PolicyMissing;
  around.policy_detail = "Namespace ml names NcclPolicy p, which does not exist.";
  EXPECT_THAT(ask(object, around).answer.sentence, HasSubstr("names NcclPolicy p, which does not exist."));
  Json by_env = admitted(by_reference(rdma_policy()));
  by_env["spec"]["nodeName"] = "gpu-1";
  const Answered told = ask(bind_to_node(by_env, plan_empty_binding("gpu-1", Reason::PolicyMissing)));
  EXPECT_EQ(told.answer.state, PodState::MissedAtBinding);
  EXPECT_EQ(told.answer.reason, Reason::PolicyMissing);
  EXPECT_THAT(told.text(),
              AllOf(HasSubstr("missed at Binding, PolicyMissing."), Not(HasSubstr("webhook answered")),
                    HasSubstr("NCCL_IB_HCA          -       PolicyMissing")));
}

TEST(PodAnswer, WithoutNodeValuesThereIsNothingToMissAtBinding) {
  NcclPolicy policy = rdma_policy();
  policy.resources = {{"rdma/hca", Exposure::PodOwned}};
  Json object = admit(pod({container("c")}, false), policy).pod;
  object["spec"]["nodeName"] = "gpu-1";
  EXPECT_EQ(ask(object).answer.state, PodState::Given);
}

TEST(PodAnswer, WithoutAStatusThePolicyTellsWhetherItWasMissed) {
  const Json bare = pod({container("c")});
  const Answered missed = ask(bare, opted_in(rdma_policy()));
  EXPECT_EQ(missed.answer.state, PodState::MissedAtAdmission);
  EXPECT_FALSE(missed.answer.findings.empty());
  EXPECT_THAT(missed.answer.remedy, HasSubstr("create it from its own"));
  Json dated = bare;
  dated["metadata"]["creationTimestamp"] = "2026-11-20T07:00:00Z";
  EXPECT_THAT(ask(dated, opted_in(rdma_policy())).answer.sentence,
              HasSubstr("no webhook answered when it was created (2026-11-20T07:00:00Z), or the namespace"));
  const Answered launcher = ask(pod({container("c", {}, "")}), opted_in(rdma_policy()));
  EXPECT_EQ(launcher.answer.state, PodState::NotInjected);
  EXPECT_EQ(launcher.answer.reason, Reason::NotRdma);
  EXPECT_TRUE(launcher.answer.findings.empty());
}

TEST(PodAnswer, WithoutAStatusAClaimIsNotKnown) {
  NcclPolicy policy = rdma_policy();
  policy.device_classes = {"rdma"};
  Json claiming = pod({container("c", {}, "")});
  claiming["spec"]["resourceClaims"] = Json::array({{{"name", "net"}, {"resourceClaimTemplateName", "t"}}});
  claiming["spec"]["containers"][0]["resources"]["claims"] = Json::array({{{"name", "net"}}});
  const Answered asked = ask(claiming, opted_in(policy));
  EXPECT_EQ(asked.answer.state, PodState::Unknown);
  EXPECT_THAT(asked.answer.sentence, HasSubstr("goes by devices that the pod claims"));
}

TEST(PodAnswer, WithoutAStatusTheNamespaceMayTell) {
  const Json bare = pod({container("c")});
  PodSurroundings around;
  around.namespace_policy = "";
  EXPECT_EQ(ask(bare, around).answer.reason, Reason::NamespaceNotOptedIn);
  around.namespace_policy = "p";
  around.policy_problem = Reason::PolicyMissing;
  EXPECT_EQ(ask(bare, around).answer.reason, Reason::PolicyMissing);
}

TEST(PodAnswer, WithoutAStatusAndRightsItSaysThatItCannotTell) {
  const Json bare = pod({container("c")});
  const Answered nothing = ask(bare);
  EXPECT_EQ(nothing.answer.state, PodState::Unknown);
  EXPECT_THAT(nothing.answer.sentence, AllOf(HasSubstr("not opted in"), HasSubstr("c requests rdma/hca")));
  PodSurroundings around;
  around.namespace_policy = "p";
  EXPECT_THAT(ask(bare, around).answer.sentence, HasSubstr("follows policy p: either that does not match"));
}

TEST(PodAnswer, WhatThePodSaysItselfNeedsNoRights) {
  Json object = pod({container("c")});
  object["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  EXPECT_EQ(ask(object).answer.reason, Reason::OptedOut);
  object["metadata"]["labels"]["nccl-env.io/inject"] = "yes";
  EXPECT_EQ(ask(object).answer.reason, Reason::InvalidInjectValue);
  object = pod({container("c")});
  object["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x";
  EXPECT_EQ(ask(object).answer.reason, Reason::MirrorPod);
}

TEST(PodAnswer, ATableThatChangedSinceBindingIsAFinding) {
  const NodeFabric then = rails_node(2);
  NodeFabric now = rails_node(1, 5);
  const Answered asked =
      ask(bound(admitted(rdma_policy()), rdma_policy(), &then), all_readable(rdma_policy(), now));
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_FALSE(asked.answer.findings.empty());
  EXPECT_THAT(changes_of(asked),
              ElementsAre("NCCL_IB_HCA =mlx5_1,mlx5_2 =mlx5_1 ", "NCCL_IB_GID_INDEX 3 5 "));
  EXPECT_THAT(asked.text(), HasSubstr("    NCCL_IB_HCA        =mlx5_1,mlx5_2, today =mlx5_1\n"));
}

TEST(PodAnswer, ATableThatIsGoneIsAChange) {
  const NodeFabric then = rails_node(2);
  PodSurroundings around = all_readable(rdma_policy(), then);
  around.table = nullptr;
  const Answered asked = ask(bound(admitted(rdma_policy()), rdma_policy(), &then), around);
  EXPECT_THAT(changes_of(asked), Contains("NCCL_IB_HCA =mlx5_1,mlx5_2 - NoTable"));
}

TEST(PodAnswer, AnewerTableWithTheSameValuesIsANote) {
  const NodeFabric then = rails_node(2);
  NodeFabric now = then;
  now.time = kNow + std::chrono::minutes(1);
  const Answered asked =
      ask(bound(admitted(rdma_policy()), rdma_policy(), &then), all_readable(rdma_policy(), now));
  EXPECT_TRUE(asked.answer.findings.empty());
  EXPECT_THAT(asked.answer.notes,
              ElementsAre(HasSubstr("of 2026-11-20T08:01:00Z today, and gives the same")));
}

TEST(PodAnswer, APolicyThatChangedSinceIsToldConstantByConstant) {
  const NodeFabric table = rails_node(2);
  NcclPolicy now = rdma_policy(2);
  now.env = {{"NCCL_IB_QPS_PER_CONNECTION", "4"}};
  PodSurroundings around = opted_in(now);  // tables are not readable
  const Answered asked = ask(bound(admitted(rdma_policy()), rdma_policy(), &table), around);
  EXPECT_THAT(changes_of(asked),
              ElementsAre("NCCL_IB_QPS_PER_CONNECTION - 4 ", "NCCL_IB_TIMEOUT 22 - OmittedByPolicy"));
  EXPECT_THAT(asked.answer.notes, Contains(HasSubstr("generation 2 today; the pod was created at 1")));
}

TEST(PodAnswer, WhatTheUserSetIsNoChange) {
  const NodeFabric table = rails_node(2);
  const Json containers =
      Json::array({container("c", {variable("NCCL_IB_HCA", "mlx5_7"), variable("NCCL_IB_TIMEOUT", "20")})});
  const Answered asked = ask(bound(admitted(rdma_policy(), containers), rdma_policy(), &table),
                             all_readable(rdma_policy(), table));
  EXPECT_THAT(changes_of(asked), IsEmpty());
  EXPECT_THAT(asked.text(), AllOf(HasSubstr("NCCL_IB_TIMEOUT      User    20"), HasSubstr("UserSetGroup")));
}

TEST(PodAnswer, OfTwoEntriesOfOneNameTheLastCountsAndReferencesAreNotGuessed) {
  const Json env = Json::array({variable("NCCL_DEBUG", "INFO"), variable("NCCL_DEBUG", "WARN"),
                                variable("NCCL_ALGO", "$(X)"), variable("SECRET", "s3cret")});
  const Answered asked = ask(pod({container("c", env)}));
  EXPECT_THAT(asked.text(),
              AllOf(HasSubstr("NCCL_DEBUG  User    WARN"), HasSubstr("NCCL_ALGO   User    (not in the"),
                    Not(HasSubstr("INFO")), Not(HasSubstr("s3cret"))));
}

TEST(PodAnswer, TheContainerThatAsksForTheDeviceIsTheOneThatNcclIsToldOf) {
  NcclPolicy policy = rdma_policy();
  policy.containers = ContainerScope::All;
  Json object = pod({container("sidecar", {}, ""), container("train")});
  object["spec"]["initContainers"] = Json::array({container("setup")});
  const Answered asked = ask(admit(object, policy).pod);
  EXPECT_EQ(asked.record.main_container()->name, "train");
  EXPECT_THAT(render_env(asked.record),
              AllOf(HasSubstr("# container setup\n"), HasSubstr("# container sidecar\n")));
}

TEST(PodAnswer, APolicyThatWasEditedBeforeTheBindingIsANote) {
  const NodeFabric table = rails_node(2);
  const Answered asked = ask(bound(admitted(rdma_policy(1)), rdma_policy(2), &table));
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_THAT(asked.answer.notes, ElementsAre(HasSubstr("At Binding it was policy p, generation 2")));
}

// A pod with values that no Binding of its own wrote, and why that is known.
TEST(PodAnswer, ValuesThatAreNotThePodsOwnAreForeign) {
  const NodeFabric table = rails_node(2);
  const auto changed = [&](const std::function<void(Json & object, Json & annotations)>& change,
                           std::int64_t created = 1) {
    Json object = bound(admitted(rdma_policy(created)), rdma_policy(2), &table);
    change(object, object["metadata"]["annotations"]);
    return object;
  };
  const auto node = [](const std::string& more) { return R"({"v":1,"node":"gpu-1",)" + more + "}"; };
  const std::pair<Json, const char*> cases[] = {
      {changed([](Json& object, Json&) { object["spec"]["nodeName"] = "gpu-2"; }),
       "they are node gpu-1's, and the pod is on gpu-2"},
      {changed([](Json& object, Json&) { object["spec"].erase("nodeName"); }), "the pod has none yet"},
      {changed([](Json&, Json& annotations) { annotations.erase("nccl-env.io/node"); }),
       "no Binding wrote them"},
      {changed([](Json&, Json&) {}, 3), "they are of generation 2 of policy p, and the pod was created at 3"},
      {changed([&](Json&, Json& annotations) {
         annotations["nccl-env.io/node"] = node(R"("policy":"q","generation":2)");
       }),
       "they are of policy q, and the pod was created by p"},
      {changed([&](Json&, Json& annotations) {
         annotations["nccl-env.io/node"] =
             node(R"("policy":"p","generation":2,"omitted":{"host":{"NCCL_IB_HCA":"NoTable"}})");
       }),
       "the pod's node gave none (NoTable)"},
      {changed([&](Json&, Json& annotations) {
         annotations["nccl-env.io/node"] = node(R"("reason":"PolicyMissing")");
       }),
       "its Binding gave no values (PolicyMissing)"},
      {changed([](Json& object, Json& annotations) {
         annotations.erase("nccl-env.io/status");
         object["spec"]["nodeName"] = "gpu-2";
       }),
       "they are node gpu-1's, and the pod is on gpu-2"}};
  for (const auto& [object, whose] : cases) {
    const Answered asked = ask(object);
    EXPECT_EQ(asked.answer.state, PodState::Foreign) << whose;
    EXPECT_FALSE(asked.answer.findings.empty()) << whose;
    EXPECT_THAT(asked.answer.sentence, AllOf(HasSubstr("NCCL_IB_HCA"), HasSubstr(whose)));
    EXPECT_THAT(asked.answer.remedy, HasSubstr("take out all annotations"));
    EXPECT_THAT(asked.text(), HasSubstr("  Foreign  =mlx5_1,mlx5_2\n")) << whose;
    EXPECT_THAT(render_env(asked.record), Not(HasSubstr("mlx5"))) << "nobody is to write them down";
  }
}

TEST(PodAnswer, EmptyAnnotationsAreNoValues) {
  const NodeFabric table = rails_node(2);
  const Answered asked = ask(bound(admitted(rdma_policy()), rdma_policy(), nullptr));
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_EQ(asked.record.main_container()->find("NCCL_IB_HCA")->state, State::LeftOut);
  EXPECT_THAT(asked.text(), HasSubstr("NoTable"));
}

TEST(PodAnswer, AFilesLinesAreForeignToo) {
  NcclPolicy policy = rdma_policy();
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  NodeFabric table = rails_node(2);
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.1", 24)};  // no eth0 on the node
  Json object = bound(admit(pod({container("c")}, false), policy).pod, policy, &table);
  EXPECT_EQ(ask(object).answer.state, PodState::Given) << "eth0 is a constant there, whatever the node says";
  object["spec"]["nodeName"] = "gpu-2";
  const Answered asked = ask(object);
  EXPECT_EQ(asked.answer.state, PodState::Foreign);
  EXPECT_EQ(asked.record.main_container()->find("NCCL_IB_HCA")->state, State::Foreign);
}

// The node has no eth0, and the pod's own network does: nothing of the one is the other's.
TEST(PodAnswer, AnInterfaceByVariantIsThatOfThePodsNetwork) {
  NcclPolicy policy = rdma_policy();
  NodeCondition shape;
  shape.node_labels.emplace("shape", "a");
  policy.variants = {{shape, {}, {}, SocketInterfaceRule{SocketInterfaceRule::Kind::Literal, "eth0"}}};
  NodeFabric table = rails_node(2);
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.1", 24)};
  table.node_labels = {NodeLabel{"shape", "a"}};
  const Answered given = ask(bound(admit(pod({container("c")}, false), policy).pod, policy, &table));
  EXPECT_EQ(given.answer.state, PodState::Given);
  EXPECT_EQ(given.record.main_container()->find("NCCL_SOCKET_IFNAME")->value, "eth0");
  table.node_labels->front().value = "b";
  const Answered none = ask(bound(admit(pod({container("c")}, false), policy).pod, policy, &table));
  EXPECT_EQ(none.record.reason_at_binding("NCCL_SOCKET_IFNAME"), "ConditionNotMet");
}

TEST(PodAnswer, ForeignTextInOurAnnotationsIsNotBelievedAndNotObeyed) {
  for (const std::string text :
       {"", "[]", "{", "7", "{\"v\":1,\"containers\":[],\"policy\":{}}",
        "{\"v\":1,\"containers\":{\"c\":{\"set\":7,\"omitted\":{\"\\u001b[31m\":\"\\u0007\"}}}}"}) {
    Json object = pod({container("c")});
    object["metadata"]["annotations"]["nccl-env.io/status"] = text;
    object["metadata"]["annotations"]["nccl-env.io/node"] = text;
    const std::string told = ask(object).text();
    EXPECT_EQ(told.find('\x1b'), std::string::npos);
    EXPECT_EQ(told.find('\x07'), std::string::npos);
  }
  Json object = pod({container("c")});
  object["metadata"]["annotations"]["nccl-env.io/status"] = std::string(70 << 10, '{');
  EXPECT_THAT(ask(object).answer.notes,
              ElementsAre(HasSubstr("nccl-env.io/status holds what nccl-env never")));
}

TEST(PodAnswer, JsonHasItsKeys) {
  const NodeFabric table = rails_node(2);
  const Answered asked =
      ask(bound(admitted(rdma_policy()), rdma_policy(), &table), all_readable(rdma_policy(), table));
  const nlohmann::ordered_json json = to_json(asked.answer, asked.record, asked.around);
  EXPECT_EQ(json["state"], "given");
  EXPECT_EQ(json["status"]["exposure"], "Host");
  EXPECT_EQ(json["bound"]["node"], "gpu-1");
  EXPECT_EQ(json["containers"][0]["env"][0]["value"], "22");
  EXPECT_EQ(json["containers"][0]["file"]["lines"][1]["value"], "=mlx5_1,mlx5_2");
  EXPECT_EQ(json["containers"][0]["omitted"][0]["reason"], "OmittedByPolicy");
  EXPECT_EQ(json["ncclWithUs"]["hcas"].size(), 2u);
  EXPECT_THAT(json["leftOut"], IsEmpty());
}

TEST(PodAnswer, NoLineIsLongerThan80) {
  const NodeFabric then = rails_node(2);
  PodSurroundings around = all_readable(rdma_policy(2), rails_node(1));
  around.unread = {
      "not allowed: get nodefabrics.nccl-env.io gpu-1: what NCCL alone would choose there is left out."};
  std::istringstream lines(ask(bound(admitted(rdma_policy()), rdma_policy(), &then), around).text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace nccl_env::pod_answer_test
