// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME: what is told of a pod, from the pod alone and from what else could be read.

#include "judge/asked.h"

namespace nccl_env::pod_answer_test {
namespace {

using namespace nccl_env::tests;

NcclPolicy rdma_policy(std::int64_t generation = 1) {
  NcclPolicy policy;
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
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

const NodeFabric kTwoRails = rails_node(2);

Json given(const NodeFabric& table = kTwoRails, const NcclPolicy& policy = rdma_policy()) {
  return bound(admitted(policy), policy, &table);
}

// With its policy and the table of its node as they are now.
Answered ask_now(const Json& object, const NodeFabric& table = kTwoRails,
                 const NcclPolicy& policy = rdma_policy()) {
  return ask(object, all_readable(policy, table));
}

std::vector<std::string> changes_of(const Answered& asked) {
  std::vector<std::string> texts;
  for (const Change& change : asked.answer.changes)
    texts.push_back(change.now.name + " " + change.then.value_or("-") + " " + change.now.value.value_or("-") +
                    " " + std::string(change.now.reason ? to_string(*change.now.reason) : ""));
  return texts;
}

TEST(PodAnswer, AnIndexThatTheNodeNoLongerHasIsAFinding) {
  const Json object = given();
  NodeFabric today = kTwoRails;
  const auto today_of = [&] { return ask_now(object, today); };
  today.ports[1].gids->back().index = 5;
  today.ports[1].gids->back().index_since = kNow;
  expect_told("the row has another index now", today_of(), PodState::Given, true);
  const auto lost = [&] {
    return std::ranges::count(today_of().answer.findings, Code::GidIndexMoved, &Finding::code) > 0;
  };
  EXPECT_TRUE(lost());
  today.ports[1].state = PortState::Down;
  EXPECT_FALSE(lost()) << "NCCL leaves a port that is down out by itself";
  today.ports[1].state = PortState::Active;
  today.ports[1].gids.reset();
  EXPECT_FALSE(lost()) << "not known";
}

// "RailDown NCCL_IB_HCA" of each finding.
std::vector<std::string> found_in(const Answered& asked) {
  std::vector<std::string> texts;
  for (const Finding& finding : asked.answer.findings)
    texts.push_back(std::string(to_string(finding.code)) +
                    (finding.subject.path.empty() ? "" : " " + finding.subject.path));
  return texts;
}

TEST(PodAnswer, AListedPortThatIsNotActiveNowIsTheAnswer) {
  const NodeFabric table = rails_node(4);
  Json object = given(table);
  NodeFabric today = table;
  const auto today_of = [&] { return ask_now(object, today); };
  EXPECT_THAT(found_in(today_of()), IsEmpty());
  EXPECT_EQ(verdict_words(today_of().answer), "given");
  today.ports[2].state = PortState::Down;
  today.ports[2].state_since = kNow - std::chrono::minutes(4);
  const Answered down = today_of();
  EXPECT_THAT(found_in(down), ElementsAre("RailDown NCCL_IB_HCA"));
  EXPECT_EQ(verdict_words(down.answer), "given, but");
  EXPECT_FALSE(is_good(down.answer.findings));
  EXPECT_EQ(down.answer.sentence, down.answer.findings.front().sentence);
  expect_golden("a rail is down", down.text());
  for (Port& port : today.ports) port.state = PortState::Down;
  EXPECT_THAT(today_of().answer.sentence, HasSubstr("So NCCL silently falls back to sockets"))
      << "none is left";
  object["status"]["phase"] = "Succeeded";
  EXPECT_THAT(found_in(today_of()), Not(Contains("RailDown NCCL_IB_HCA"))) << "it has ended";
  object["status"]["phase"] = "Failed";
  EXPECT_THAT(found_in(today_of()), ElementsAre("RailDown NCCL_IB_HCA", "ChangedSinceBound", "PodFailed"))
      << "a symptom, the last";
  object["status"]["phase"] = "Running";
  for (Port& port : today.ports) port.state.reset();
  EXPECT_THAT(found_in(today_of()), IsEmpty()) << "not known is not down";
  today = table;
  EXPECT_THAT(found_in(today_of()), IsEmpty()) << "up again";
}

TEST(PodAnswer, WhereTheNodeIsNotSeenTheAnswerSaysSo) {
  const Json object = given();
  PodSurroundings around = opted_in(rdma_policy());
  around.table_problem = "you may not get nodefabrics";
  const Answered unseen = ask(object, around);
  EXPECT_EQ(verdict_words(unseen.answer), "given, node not seen");
  EXPECT_TRUE(is_good(unseen.answer.findings));
  PodSurroundings no_table;
  no_table.table_known = true;
  EXPECT_THAT(ask(object, no_table).answer.sentence, HasSubstr("there is no NodeFabric of that node"));
  EXPECT_EQ(verdict_words(ask_now(object).answer), "given");
}

TEST(PodAnswer, ValuesOfTheUsersAreJudgedLikeOurs) {
  const NodeFabric table = rails_node(4);
  const auto with = [&](const std::vector<Json>& env, bool host_network = false) {
    Json made = pod({container("c", env)}, host_network);
    return ask(bound(admit(made, rdma_policy()).pod, rdma_policy(), &table),
               all_readable(rdma_policy(), table));
  };
  const Answered wrong =
      with({env_literal("NCCL_IB_GID_INDEX", "1"), env_literal("NCCL_IB_HCA", "mlx5_1,mlx5_9"),
            env_literal("NCCL_IB_TIMOUT", "22"), env_literal("UCX_NET_DEVICES", "=mlx5_1:1")});
  EXPECT_THAT(found_in(wrong), ElementsAre("NoSuchDevice NCCL_IB_HCA", "UnknownVariable NCCL_IB_TIMOUT",
                                           "ValueMisread UCX_NET_DEVICES", "LinkLocalGid NCCL_IB_GID_INDEX"));
  expect_golden("a device, a row, a name, a grammar", wrong.text());
  const auto found = [&](const char* name, const char* value, bool host_network = false) {
    return found_in(with({env_literal(name, value)}, host_network));
  };
  EXPECT_THAT(found("NCCL_IB_GID_INDEX", "9"), ElementsAre("EmptyGid NCCL_IB_GID_INDEX"));
  EXPECT_THAT(found("NCCL_IB_GID_INDEX", "2"), ElementsAre("RoceV1Gid NCCL_IB_GID_INDEX"));
  EXPECT_THAT(found("NCCL_SOCKET_IFNAME", "=lo"), ElementsAre("LoopbackFirst NCCL_SOCKET_IFNAME"));
  EXPECT_THAT(found("NCCL_SOCKET_IFNAME", "^docker0", true), ElementsAre("LoopbackFirst NCCL_SOCKET_IFNAME"));
  EXPECT_THAT(found("UCX_NET_DEVICES", "mlx5_1:1,mlx5_9:1,eth0"),
              ElementsAre("DeviceNotAvailable UCX_NET_DEVICES"));
  EXPECT_THAT(
      found_in(with({env_literal("NCCL_SOCKET_IFNAME", "^docker0,lo"), env_literal("NCCL_DEBUG", "INFO"),
                     env_literal("NCCL_PAT_ENABLE", "0"), env_literal("NCCL_IB_HCA", "=mlx5_1")})),
      ElementsAre("UserListShort NCCL_IB_HCA"));
  NodeFabric named = table;
  named.interfaces.emplace().emplace_back().name = "eth0";
  const Json gloo = pod({container("c", {env_literal("GLOO_SOCKET_IFNAME", "nope")})}, true);
  EXPECT_THAT(found_in(ask(bound(admit(gloo, rdma_policy()).pod, rdma_policy(), &named),
                           all_readable(rdma_policy(), named))),
              ElementsAre("NoInterface GLOO_SOCKET_IFNAME"));
}

TEST(PodAnswer, AnOwnIndexOfAnotherNetworkIsTold) {
  NcclPolicy policy = rdma_policy();
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  NodeFabric table = rails_node(4);
  // A second address of each rail's at index 5: of storage on so many rails, of the rail's own network on
  // others.
  const auto with = [&](int storage, const char* index) {
    table.interfaces.emplace();
    for (int rail = 1; rail <= 4; ++rail) {
      Port& port = table.ports[static_cast<std::size_t>(rail - 1)];
      const std::string r = std::to_string(rail), eth = "eth" + r;
      const std::string second = (rail <= storage ? "172.16." : "10.0.") + r + ".9";
      port.gids->resize(4);
      port.gids->push_back(row(5, v4(second), GidType::RoCEv2, eth));
      table.interfaces->push_back(interface(eth, "10.0." + r + ".1", 24));
      table.interfaces->back().addresses->push_back({v4(second).address(), 24});
    }
    const Json made = pod({container("c", {env_literal("NCCL_IB_GID_INDEX", index)})}, true);
    return texts_of(
        ask(bound(admit(made, policy).pod, policy, &table), all_readable(policy, table)).answer.findings);
  };
  EXPECT_THAT(with(4, "5"),
              ElementsAre("info RankRowDiffers: NCCL_IB_GID_INDEX is the user's own and takes a row of "
                          "172.16.1.0/24, where NCCL without it takes one of 10.0.1.0/24: on all ports."));
  EXPECT_THAT(with(2, "5"), ElementsAre(AllOf(HasSubstr("warning RankRowDiffers"),
                                              HasSubstr("on 2 of 4 ports, mlx5_1, mlx5_2."))));
  EXPECT_THAT(with(0, "5"), IsEmpty()) << "one network";
  EXPECT_THAT(with(4, "3"), IsEmpty());
  policy.fabric.subnets = {*parse_cidr("10.0.0.0/8")};
  EXPECT_THAT(with(4, "5"), ElementsAre(HasSubstr("warning RankRowDiffers"))) << "the policy says which";
  policy.fabric.subnets = {*parse_cidr("172.16.0.0/16")};
  EXPECT_THAT(with(4, "5"), IsEmpty());
}

TEST(PodAnswer, EveryContainerIsJudged) {
  const NodeFabric table = rails_node(8, 3, "gpu-0");
  const auto with_index = [&](const char* index) {
    const Json made =
        pod({container("first"), container("second", {env_literal("NCCL_IB_GID_INDEX", index)})});
    return ask(bound(admit(made, rdma_policy()).pod, rdma_policy(), &table),
               all_readable(rdma_policy(), table));
  };
  EXPECT_TRUE(is_good(with_index("3").answer.findings));
  const auto wrong = with_index("9").answer.findings;
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong[0].code, Code::EmptyGid);
}

// By the spec alone; injected_conf_test.cc has the answers by what the init container saw.
TEST(PodAnswer, LimitsOfTheProcessAreTold) {
  Json object = given();
  const auto as_it_is = [&] { return ask_as_it_is(object, all_readable(rdma_policy(), kTwoRails)); };
  EXPECT_THAT(found_in(ask_now(object)), IsEmpty());
  EXPECT_THAT(found_in(as_it_is()), ElementsAre("MemoryLock", "SharedMemory"));
  EXPECT_TRUE(is_good(as_it_is().answer.findings)) << "the runtime may have lifted the limit";
  object["spec"]["hostIPC"] = true;
  EXPECT_THAT(found_in(as_it_is()), ElementsAre("MemoryLock"));
  object["status"]["phase"] = "Succeeded";
  EXPECT_THAT(found_in(as_it_is()), IsEmpty());
}

TEST(PodAnswer, ADeviceThatThePodMayNotOpenIsTheVerdict) {
  NcclPolicy policy = rdma_policy();
  policy.host_devices = true;
  Json asks = pod({container("c", {}, "")});
  asks["spec"]["volumes"].push_back({{"name", "ib"}, {"hostPath", {{"path", "/dev/infiniband"}}}});
  asks["spec"]["containers"][0]["volumeMounts"].push_back({{"name", "ib"}, {"mountPath", "/dev/infiniband"}});
  const auto answered = [&](const Json& made) {
    return ask(bound(admit(made, policy).pod, policy, &kTwoRails), all_readable(policy, kTwoRails));
  };
  const Answered refused = answered(asks);
  EXPECT_THAT(found_in(refused), ElementsAre("DeviceNotOpened"));
  EXPECT_FALSE(is_good(refused.answer.findings));
  asks["spec"]["containers"][0]["securityContext"]["privileged"] = true;
  EXPECT_THAT(found_in(answered(asks)), IsEmpty());
}

TEST(PodAnswer, AnInterfaceThatThePodsNetworksDidNotBringIsTheVerdict) {
  NcclPolicy policy = rdma_policy();
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  const auto found = [&](const std::string& interface, const std::string& list = {}) {
    Json asks = pod(
        {list.empty() ? container("c") : container("c", {env_literal("NCCL_SOCKET_IFNAME", list)})}, false);
    Json object = bound(admit(asks, policy).pod, policy, &kTwoRails);
    if (!interface.empty())
      object["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"] =
          R"([{"name": "cbr0", "interface": ")" + interface +
          R"(", "default": true}, {"interface": "net1"}])";
    return found_in(ask(object, all_readable(policy, kTwoRails)));
  };
  const auto absent = ElementsAre("NoInterface NCCL_SOCKET_IFNAME");
  EXPECT_THAT(found("eth0"), IsEmpty());
  EXPECT_THAT(found("net0"), absent);
  EXPECT_THAT(found("net0", "net"), IsEmpty()) << "a prefix";
  EXPECT_THAT(found("net0", "=net"), absent);
  EXPECT_THAT(found("net0", "^docker0,lo"), IsEmpty());
  EXPECT_THAT(found("net0", "lo"), ElementsAre("LoopbackFirst NCCL_SOCKET_IFNAME")) << "it is there";
  EXPECT_THAT(found(""), IsEmpty()) << "not known";
}

TEST(PodAnswer, AnIndexThatIsPinnedNoMoreAndStillRightIsNoChange) {
  NcclPolicy searching = rdma_policy();
  searching.gid_index.kind = GidIndexRule::Kind::Auto;
  const Json pod = bound(admitted(rdma_policy()), rdma_policy(), &kTwoRails);
  EXPECT_THAT(found_in(ask(pod, all_readable(searching, kTwoRails))), IsEmpty());
  NodeFabric moved = kTwoRails;
  for (GidRow& row : *moved.ports[1].gids) row.index += 4;
  EXPECT_THAT(found_in(ask(pod, all_readable(searching, moved))), ElementsAre("GidIndexMoved"));
}

TEST(PodAnswer, APodThatWasKeptOverABootIsCreatedAnewWhereItHoldsAnotherValue) {
  NodeFabric then = kTwoRails, today = kTwoRails;
  then.boot_id = "a";
  today.boot_id = "b";
  const Json pod = bound(admitted(rdma_policy()), rdma_policy(), &then);
  EXPECT_THAT(found_in(ask(pod, all_readable(rdma_policy(), today))), IsEmpty())
      << "it holds what it would get";
  const auto changed_by = [&](const NodeFabric& table) {
    const Answered asked = ask(pod, all_readable(rdma_policy(), table));
    const auto found = std::ranges::find(asked.answer.findings, Code::ChangedSinceBound, &Finding::code);
    return found == asked.answer.findings.end() ? Finding() : *found;
  };
  for (GidRow& row : *today.ports[1].gids) row.index += 4;
  today.ports.erase(today.ports.begin());
  const Finding changed = changed_by(today);
  EXPECT_THAT(changed.sentence,
              HasSubstr("Changed since the pod was bound, and its node has booted since: "));
  EXPECT_THAT(std::string(remedy_of(changed)), HasSubstr("Create the pod anew"));
  today.boot_id = "a";
  EXPECT_THAT(changed_by(today).sentence, Not(HasSubstr("booted")));
  today.boot_id.reset();
  EXPECT_THAT(changed_by(today).sentence, Not(HasSubstr("booted")));
}

TEST(PodAnswer, WhereTheNodeGivesAValueNoMoreTheRemedyIsTheReasons) {
  NcclPolicy policy = rdma_policy();
  policy.fabric.expect_ports = 2;
  policy.on_unresolved = OnUnresolved::Deny;
  NodeFabric today = kTwoRails;
  today.ports[1].state = PortState::Down;
  today.ports[1].state_since = kNow - std::chrono::hours(1);
  const Answered asked = ask(bound(admitted(policy), policy, &kTwoRails), all_readable(policy, today));
  const auto changed = std::ranges::find(asked.answer.findings, Code::ChangedSinceBound, &Finding::code);
  ASSERT_NE(changed, asked.answer.findings.end());
  EXPECT_EQ(remedy_of(*changed), remedy(Reason::TooFewPorts)) << "a pod created anew would have none";
  EXPECT_THAT(found_in(asked), Contains("RailDown NCCL_IB_HCA"));
}

TEST(PodAnswer, AHealthyPodTellsItsValuesAndTheirSourcesByItself) {
  const Answered asked = ask(given());
  expect_golden("of the pod alone", asked.text());
  EXPECT_EQ(asked.answer.state, PodState::Given);
  EXPECT_EQ(render_env(asked.record),
            "NCCL_IB_TIMEOUT=22\n# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
}

TEST(PodAnswer, APodWithoutANodeTellsWhatItWaitsFor) {
  Json object = admitted(rdma_policy());
  expect_told("new", ask(object), PodState::WaitingForNode);
  object["status"]["conditions"] = {
      {{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/3 nodes fit"}}};
  expect_told("the scheduler finds no node", ask(object), PodState::WaitingForNode);
  object["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
  expect_told("a gate is closed", ask(object), PodState::WaitingForNode);
}

TEST(PodAnswer, APodThatDenyHoldsIsAFindingWithTheRefusalsSentence) {
  for (const std::string event : {"error binding pod: admission webhook \"binding.nccl-env.io\" denied the "
                                  "request: nccl-env: node gpu-1 "
                                  "gives no values (NoTable)",
                                  "failed calling webhook \"binding.nccl-env.io\": connection refused"}) {
    PodSurroundings around;
    around.events = {event};
    expect_told(event, ask(admitted(rdma_policy()), around), PodState::WaitingForNode, true);
  }
}

TEST(PodAnswer, WhyABindingBroughtNothingIsTold) {
  Json object = admitted(rdma_policy());
  object["spec"]["nodeName"] = "gpu-1";
  const auto missed = [&](const std::string& title, const PodSurroundings& around) {
    expect_told(title, ask(object, around), PodState::MissedAtBinding, true);
  };
  PodSurroundings around;
  missed("of the pod alone", around);
  around.namespace_policy = "";
  missed("the namespace has no label", around);
  NcclPolicy dry = rdma_policy();
  dry.mode = PolicyMode::DryRun;
  missed("the policy is in mode DryRun", opted_in(dry));
  around = opted_in(rdma_policy());
  around.policy.reset();
  around.policy_problem = Reason::PolicyMissing;
  around.policy_detail = "Namespace ml names NcclPolicy p, which does not exist.";
  missed("the policy is not there", around);
  Json by_env = admitted(rdma_policy());
  by_env["spec"]["nodeName"] = "gpu-1";
  const Answered told = ask(bind_to_node(by_env, plan_empty_binding("gpu-1", Reason::PolicyMissing, {})));
  expect_told("the Binding's annotation has a reason", told, PodState::MissedAtBinding, true);
  EXPECT_EQ(told.answer.reason, Reason::PolicyMissing);
  NcclPolicy edited = rdma_policy(2);
  edited.resources.front().exposure = Exposure::PodOwned;
  const Json before = admit(pod({container("c")}, false), rdma_policy(1)).pod;
  const Answered away = ask(bound(before, edited, &kTwoRails));
  expect_told("the policy was edited to others", away, PodState::MissedAtBinding, true);
  EXPECT_EQ(away.answer.reason, Reason::PolicyChanged);
}

TEST(PodAnswer, WithoutAStatusThePolicyTellsWhetherItWasMissed) {
  Json bare = pod({container("c")});
  expect_told("missed", ask(bare, opted_in(rdma_policy())), PodState::MissedAtAdmission, true);
  bare["metadata"]["creationTimestamp"] = "2026-11-20T07:00:00Z";
  expect_told("missed when it was created", ask(bare, opted_in(rdma_policy())), PodState::MissedAtAdmission,
              true);
  const Answered launcher = ask(pod({container("c", {}, "")}), opted_in(rdma_policy()));
  expect_told("a launcher", launcher, PodState::NotInjected);
  EXPECT_EQ(launcher.answer.reason, Reason::NotRdma);
}

TEST(PodAnswer, WithoutAStatusAClaimIsNotKnownAndTheNamespaceMayTell) {
  NcclPolicy policy = rdma_policy();
  policy.device_classes = {"rdma"};
  Json claiming = pod({container("c", {}, "")});
  claiming["spec"]["resourceClaims"] = Json::array({{{"name", "net"}, {"resourceClaimTemplateName", "t"}}});
  claiming["spec"]["containers"][0]["resources"]["claims"] = Json::array({{{"name", "net"}}});
  expect_told("a claim", ask(claiming, opted_in(policy)), PodState::Unknown);
  const Json bare = pod({container("c")});
  expect_told("no rights", ask(bare), PodState::Unknown);
  PodSurroundings around;
  around.namespace_policy = "p";
  expect_told("the namespace's policy cannot be read", ask(bare, around), PodState::Unknown);
  around.policy_problem = Reason::PolicyMissing;
  EXPECT_EQ(ask(bare, around).answer.reason, Reason::PolicyMissing);
  EXPECT_THAT(found_in(ask(bare, around)), ElementsAre("NoList NCCL_IB_HCA"));
  around.namespace_policy = "";
  around.policy_problem.reset();
  EXPECT_EQ(ask(bare, around).answer.reason, Reason::NamespaceNotOptedIn);
}

TEST(PodAnswer, ATableThatChangedSinceBindingIsAFinding) {
  const NodeFabric then = rails_node(2);
  NodeFabric now = rails_node(1, 5);
  const Answered asked = ask_now(given(then), now);
  expect_told("a rail less, and another index", asked, PodState::Given, true);
  EXPECT_THAT(changes_of(asked),
              ElementsAre("NCCL_IB_HCA =mlx5_1,mlx5_2 =mlx5_1 ", "NCCL_IB_GID_INDEX 3 5 "));
}

TEST(PodAnswer, ATableThatIsGoneOrTooOldTakesNothingFromAPodThatHasItsValues) {
  NodeFabric then = rails_node(2);
  const Json object = given(then);
  PodSurroundings around = all_readable(rdma_policy(), then);
  around.table = nullptr;
  EXPECT_THAT(changes_of(ask(object, around)), IsEmpty());
  then.time = kNow - std::chrono::hours(5);
  const Answered asked = ask_now(object, then);
  EXPECT_THAT(changes_of(asked), IsEmpty());
  EXPECT_EQ(verdict_words(asked.answer), "given, node not seen");
  expect_told("a table of five hours ago", asked, PodState::Given);
  then.ports[1].state = PortState::Down;
  EXPECT_EQ(verdict_words(ask_now(object, then).answer), "given, node not seen");
  then.time = kNow + std::chrono::hours(5);
  EXPECT_EQ(verdict_words(ask_now(object, then).answer), "given, node not seen") << "a wrong clock";
}

TEST(PodAnswer, WithoutAListTheReasonIsTheVerdict) {
  const NodeFabric few = rails_node(2);
  NcclPolicy policy = rdma_policy();
  policy.fabric.expect_ports = 8;
  const Answered asked = ask(bound(admitted(policy), policy, &few), all_readable(policy, few));
  expect_told("two of eight ports", asked, PodState::Given, true);
  EXPECT_THAT(found_in(asked), ElementsAre("NoList NCCL_IB_HCA"));
}

TEST(PodAnswer, AValueThatCameOrWentAfterAdmissionIsTheVerdict) {
  Json object = given();
  object["spec"]["containers"][0]["env"].push_back(env_literal("NCCL_IB_HCA", "=mlx5_1"));
  const Answered asked = ask_now(object);
  expect_told("an entry of env that the file was to bring", asked, PodState::Given, true);
  EXPECT_EQ(asked.answer.findings.at(0).code, Code::ValueOverridden);
  EXPECT_THAT(asked.answer.sentence, HasSubstr("NCCL_IB_HCA==mlx5_1"));
  object = given();
  object["spec"]["containers"][0].update({{"env", Json::array()}, {"volumeMounts", Json::array()}});
  const Answered lost = ask_now(object);
  expect_told("without env and mounts", lost, PodState::Given, true);
  EXPECT_THAT(found_in(lost), ElementsAre("ValueOverridden"));
}

TEST(PodAnswer, AContainerThatNeverRanHasNoLog) {
  Json object = given();
  object["status"] = {
      {"phase", "Pending"},
      {"containerStatuses",
       Json::array(
           {{{"name", "c"},
             {"state",
              {{"waiting",
                {{"reason", "CreateContainerConfigError"}, {"message", "secret \"wandb\" not found"}}}}}}})}};
  const Answered asked = ask_now(object);
  EXPECT_THAT(asked.answer.sentence,
              HasSubstr("cannot start (CreateContainerConfigError: secret \"wandb\" not found)"));
  EXPECT_THAT(asked.answer.remedy, HasSubstr("it has no log"));
  Json& container = object["status"]["containerStatuses"][0];
  container["state"]["waiting"] = {{"reason", "CrashLoopBackOff"}};
  container["restartCount"] = 4;
  EXPECT_THAT(ask_now(object).answer.remedy, HasSubstr("` reads its log"));
  object["status"] = {
      {"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}, {"message", "no healthy devices"}};
  EXPECT_THAT(ask_now(object).answer.sentence, HasSubstr("(UnexpectedAdmissionError: no healthy devices)"));
}

TEST(PodAnswer, APolicyThatChangedSinceIsToldConstantByConstant) {
  NcclPolicy now = rdma_policy(2);
  now.env = {{"NCCL_IB_QPS_PER_CONNECTION", "4"}};
  const Answered asked = ask(given(), opted_in(now));
  EXPECT_THAT(changes_of(asked),
              ElementsAre("NCCL_IB_QPS_PER_CONNECTION - 4 ", "NCCL_IB_TIMEOUT 22 - OmittedByPolicy"));
  expect_told("tables are not readable", asked, PodState::Given, true);
}

TEST(PodAnswer, TheContainerThatAsksForTheDeviceIsTheOneThatNcclIsToldOf) {
  NcclPolicy policy = rdma_policy();
  policy.containers = ContainerScope::All;
  Json object = pod({container("sidecar", {}, ""), container("train")});
  object["spec"]["initContainers"] = Json::array({container("setup")});
  const Answered asked = ask(admit(object, policy).pod);
  EXPECT_EQ(asked.record.main_container()->name, "train");
  expect_golden("-o env", render_env(asked.record));
}

TEST(PodAnswer, AnEditedPolicyOfTheSameValuesIsANote) {
  expect_told("generation 2 at Binding", ask(bound(admitted(rdma_policy(1)), rdma_policy(2), &kTwoRails)),
              PodState::Given);
  expect_told("deleted and made anew, so generation 1 at Binding",
              ask(bound(admitted(rdma_policy(3)), rdma_policy(1), &kTwoRails)), PodState::Given);
  NcclPolicy other = rdma_policy();
  other.name = "q";
  expect_told("the namespace's label was moved", ask(bound(admitted(rdma_policy(1)), other, &kTwoRails)),
              PodState::Given);
  other.resources.front().exposure = Exposure::PodOwned;
  expect_told("and the other policy has nothing for pods of its kind",
              ask(bound(admit(pod({container("c")}, false), rdma_policy()).pod, other, &kTwoRails)),
              PodState::MissedAtBinding, true);
}

// A pod with values that no Binding of its own wrote, and why that is known.
TEST(PodAnswer, ValuesThatAreNotThePodsOwnAreForeign) {
  const auto changed = [&](const std::function<void(Json & object, Json & annotations)>& change) {
    Json object = bound(admitted(rdma_policy(1)), rdma_policy(2), &kTwoRails);
    change(object, object["metadata"]["annotations"]);
    return object;
  };
  const auto node = [](const std::string& more) { return R"({"v":1,"node":"gpu-1",)" + more + "}"; };
  Json unbound = changed([](Json& object, Json&) { object["spec"].erase("nodeName"); });
  EXPECT_EQ(ask(unbound).record.node, "gpu-1") << "a manifest that was made for a node";
  unbound["metadata"]["uid"] = "7b1f";
  const std::pair<Json, const char*> cases[] = {
      {changed([](Json& object, Json&) { object["spec"]["nodeName"] = "gpu-2"; }), "another node"},
      {unbound, "no node yet"},
      {changed([](Json&, Json& annotations) { annotations.erase("nccl-env.io/node"); }),
       "no annotation of a Binding"},
      {changed([&](Json&, Json& annotations) {
         annotations["nccl-env.io/node"] =
             node(R"("policy":"p","generation":2,"omitted":{"host":{"NCCL_IB_HCA":"NoTable"}})");
       }),
       "the node gave none"},
      {changed([&](Json&, Json& annotations) {
         annotations["nccl-env.io/node"] = node(R"("reason":"PolicyMissing")");
       }),
       "the Binding gave none"},
      {changed([](Json& object, Json& annotations) {
         annotations.erase("nccl-env.io/status");
         object["spec"]["nodeName"] = "gpu-2";
       }),
       "another node, and no status"}};
  for (const auto& [object, title] : cases) {
    const Answered asked = ask(object);
    expect_told(title, asked, PodState::Foreign, true);
    EXPECT_EQ(asked.record.main_container()->find("NCCL_IB_HCA")->state, State::Foreign) << title;
    EXPECT_THAT(render_env(asked.record), Not(HasSubstr("mlx5"))) << "nobody is to write them down";
  }
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
  expect_told("a status of 70 KiB", ask(object), PodState::Unknown, true);
  object = bound(admitted(rdma_policy()), rdma_policy(), nullptr);
  object["metadata"]["annotations"]["nccl-env.io/status"] = R"({"v":2,"containers":{}})";
  expect_told("a status of a later version", ask(object), PodState::Unknown, true);
}

TEST(PodAnswer, JsonHasItsKeys) {
  const Answered asked = ask_now(given());
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
  std::istringstream lines(ask(given(then), around).text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace nccl_env::pod_answer_test
