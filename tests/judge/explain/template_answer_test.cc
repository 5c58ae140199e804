// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/template_answer.h"
#include "nccl_env/judge/explain/template_differences.h"

#include "core/conf_pods.h"
#include "judge/asked.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env::template_answer_test {
namespace {

using namespace nccl_env::tests;

// "NAME=VALUE SOURCE" of the first container; "?" for a value that only Binding knows.
std::vector<std::string> lines_of(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values)
    texts.push_back(value.name + "=" + value.value.value_or("?") + " " + std::string(source_word(value)));
  return texts;
}

std::vector<std::string> env_of(const AnsweredPod& told) {
  return lines_of(told.record.main_container()->values);
}

// The same of its nccl.conf.
std::vector<std::string> conf_of(const AnsweredPod& told) {
  return lines_of(told.record.main_container()->file);
}

std::vector<std::string> omitted_of(const AnsweredPod& told) {
  std::vector<std::string> omitted;
  for (const Value& omission : omitted_values(told.answer, told.record, *told.record.main_container()))
    omitted.push_back(omission.name + " " + std::string(to_string(*omission.reason)));
  return omitted;
}

const Json kHostPod = pod({container("c")});
const NcclPolicy kHostPolicy = policy_for("rdma/hca");

TEST(Explain, SaysWhichVariantGivesFabricAndInterface) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::Host);
  NodeCondition shape;
  shape.node_labels.emplace("shape", "a");
  FabricRule two;
  two.hcas = {"mlx5_[12]"};
  policy.variants = {{shape, {}, two, SocketInterfaceRule{SocketInterfaceRule::Kind::Literal, "eth7"}}};
  NodeFabric table = rails(4);
  table.node_labels = {NodeLabel{"shape", "a"}};
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.2", 24)};
  const Answered own = ask_template(pod({container("c")}, false), policy, &table);
  EXPECT_THAT(conf_of(own), ElementsAre("NCCL_IB_GID_INDEX=3 File", "NCCL_IB_HCA==mlx5_1,mlx5_2 File",
                                        "NCCL_SOCKET_IFNAME=eth7 File", "NCCL_IB_ADDR_FAMILY=? File"));
  expect_golden(own.text());
  EXPECT_THAT(omitted_of(ask_template(kHostPod, policy, &table)),
              ElementsAre("NCCL_SOCKET_IFNAME InterfaceAbsent"));
  table.node_labels.reset();
  EXPECT_THAT(omitted_of(ask_template(kHostPod, policy, &table)),
              UnorderedElementsAre("NCCL_IB_HCA ConditionUnknown", "NCCL_IB_GID_INDEX ConditionUnknown",
                                   "NCCL_SOCKET_IFNAME ConditionUnknown"));
}

TEST(Explain, ThePodsOwnRowsAreNotGuessedBehindASubInterface) {
  const NodeFabric table = rails(2);
  const Answered explanation =
      ask_template(pod({container("c")}, false), policy_for("rdma/hca", Exposure::SubInterface), &table);
  EXPECT_THAT(conf_of(explanation), ElementsAre("NCCL_IB_HCA==mlx5_1,mlx5_2 File"));
  EXPECT_THAT(omitted_of(explanation), Contains("NCCL_IB_GID_INDEX PodGidUnknown"));
  for (const auto& port : explanation.answer.nccl_with_us->ports) EXPECT_FALSE(port.gid_index) << port.hca;
  expect_golden(explanation.text());
}

TEST(Explain, NothingIsToldOfNcclWhereThePodOwnsItsDevices) {
  const NodeFabric table = rails(2);
  const Answered explanation =
      ask_template(pod({container("c")}, false), policy_for("rdma/hca", Exposure::PodOwned), &table);
  EXPECT_THAT(omitted_of(explanation), Contains("NCCL_IB_HCA PodOwnsDevices"));
  EXPECT_FALSE(explanation.answer.nccl_alone);
}

TEST(Explain, DryRunIsASkipThatTellsWhatWouldBe) {
  NcclPolicy policy = kHostPolicy;
  policy.mode = PolicyMode::DryRun;
  const NodeFabric table = rails(2);
  const Answered explanation = ask_template(kHostPod, policy, &table);
  EXPECT_FALSE(explanation.answer.state == PodState::Given);
  EXPECT_EQ(explanation.answer.reason, Reason::DryRun);
  EXPECT_EQ(explanation.answer.remedy, remedy(Reason::DryRun));
  EXPECT_THAT(conf_of(explanation), Contains("NCCL_IB_GID_INDEX=3 File"));
  Answered alone = ask_template(equipped(kHostPod), policy, &table);
  const NamedTemplate one[] = {{"spec.template", &alone}};
  compare_templates(one);
  EXPECT_THAT(alone.answer.findings, IsEmpty()) << "nothing is lost, and no other has values";
  NcclPolicy looks = policy;
  looks.resources = {{"rdma/hca", Exposure::SubInterface}};
  const Json apart = equipped(pod({container("c")}, false));
  EXPECT_EQ(texts_of(ask_template(apart, looks, &table, {2, 21, 5}, with_resolver()).answer.findings),
            (looks.mode = PolicyMode::Enforce,
             texts_of(ask_template(apart, looks, &table, {2, 21, 5}, with_resolver()).answer.findings)));
}

TEST(Explain, ADryRunOfWhatWouldBeBeyondALimitSaysSo) {
  NcclPolicy policy = kHostPolicy;
  policy.mode = PolicyMode::DryRun;
  for (int i = 0; i < 12; ++i) policy.env.emplace("NCCL_X_" + std::to_string(i), "1");
  std::vector<Json> containers;
  for (int i = 0; i < 120; ++i)
    containers.push_back(container("c" + std::to_string(i), {env_literal("A", "1")}));
  const NodeFabric table = rails(2);
  const Answered beyond = ask_template(equipped(pod(containers)), policy, &table);
  EXPECT_EQ(beyond.answer.reason, Reason::BudgetExceeded);
  EXPECT_THAT(texts_of(beyond.answer.findings), ElementsAre(HasSubstr("No HCA list (BudgetExceeded)")));
}

TEST(Explain, WithoutAPolicyWhatAnotherReviewWroteDoesNotCount) {
  PodSurroundings around;
  around.namespace_policy = "";
  const AnsweredPod told = answer_template(admit(kHostPod, kHostPolicy).pod, around);
  EXPECT_EQ(told.answer.state, PodState::NotInjected);
  EXPECT_EQ(told.answer.reason, Reason::NamespaceNotOptedIn);
}

TEST(Explain, WhatTheEnvLeavesToTheFileIsNotLeftOut) {
  NodeFabric table = rails(1);
  table.ports[0].gids = std::vector<GidRow>{row(3, gid("fd00::1"), GidType::RoCEv2, "eth1")};
  const std::vector<Json> own{env_literal("NCCL_IB_GID_INDEX", "3")};
  const Answered asked = ask_template(pod({container("c", own)}), kHostPolicy, &table);
  EXPECT_THAT(conf_of(asked), Contains("NCCL_IB_ADDR_FAMILY=AF_INET6 File"));
  EXPECT_THAT(omitted_of(asked), Not(Contains(StartsWith("NCCL_IB_ADDR_FAMILY"))));
  Json unseen = container("c");
  unseen["envFrom"] = {{{"configMapRef", {{"name", "m"}}}}};
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_1"};
  const auto family = Contains(StartsWith("NCCL_IB_ADDR_FAMILY=AF_INET6"));
  EXPECT_THAT(conf_of(ask_template(pod({unseen}), policy, &table)), family);
  table.ports.push_back(rails(2).ports[1]);  // a list that is not seen may name it
  EXPECT_THAT(conf_of(ask_template(pod({unseen}), policy, &table)), Not(family));
}

TEST(Explain, WhatTheNodeWouldGiveStandsBesideTheUsersValueAlone) {
  const NodeFabric table = rails(2);
  const std::string text =
      ask_template(pod({container("a", {env_literal("NCCL_IB_HCA", "mlx5_1")}), container("b")}), kHostPolicy,
                   &table)
          .text();
  const std::size_t first = text.find("the node's: =mlx5_1,mlx5_2");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_EQ(text.find("the node's:", first + 1), text.npos) << text;
  NcclPolicy searched = kHostPolicy;
  searched.gid_index.kind = GidIndexRule::Kind::Auto;
  const Json own = pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "1")})});
  EXPECT_THAT(ask_template(own, searched, &table).answer.details.at("NCCL_IB_GID_INDEX"),
              AllOf(StartsWith("the node's: none. "), EndsWith("(gidIndex: Auto).")));
}

TEST(Explain, AValueOfAFileThatTheUsersListKeepsAwaySaysSo) {
  NcclPolicy policy = kHostPolicy;
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  const Json own = pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})});
  for (const Answered& told : {ask_template(own, policy, nullptr), ask(admit(own, policy).pod)})
    EXPECT_THAT(find_text(told.record.main_container()->decided, "NCCL_SOCKET_IFNAME"),
                EndsWith("alone would give it, stays away."));
}

TEST(Explain, ValuesOfTheUsersOwnAreRightOrAreNotOfTheFabric) {
  const NodeFabric table = rails(11);
  NcclPolicy policy = kHostPolicy;
  const auto told = [&](const char* name, const char* value) {
    return ask_template(equipped(pod({container("c", {env_literal(name, value)})})), policy, &table);
  };
  policy.fabric.hcas = {"mlx5_*"};
  EXPECT_EQ(told("NCCL_IB_HCA", "mlx5").answer.in_all,
            "own values (NCCL_IB_HCA), which take the node's HCAs; nothing is added");
  Json own = equipped(pod({container("c")}));
  own["spec"]["containers"][0]["volumeMounts"].push_back(mount("/etc/nccl.conf"));
  EXPECT_THAT(ask_template(own, policy, &table).text(), HasSubstr("container's own file says, which is not"));
  EXPECT_EQ(told("NCCL_IB_HCA", "mlx5_1,mlx5_2").answer.findings.at(0).remedy, "");
  policy.fabric.hcas = {"mlx5_[2-9]", "mlx5_1[01]"};
  EXPECT_THAT(told("NCCL_IB_HCA", "mlx5_1").answer.findings.at(0).remedy, StartsWith("Remove the variable"));
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  EXPECT_THAT(told("NCCL_IB_GID_INDEX", "3").text(),
              AllOf(HasSubstr("fits: a usable row on all 10 ports"), Not(HasSubstr("UserSetGroup"))));
}

TEST(Explain, AStatusInAManifestIsNotJudged) {
  Json printed = equipped(kHostPod);
  printed["status"] = {
      {"phase", "Failed"},
      {"containerStatuses",
       {{{"name", "c"}, {"state", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}}}};
  const NodeFabric table = rails(2);
  EXPECT_THAT(ask_template(printed, kHostPolicy, &table).answer.findings, IsEmpty());
}

TEST(Explain, TheTemplateWithItsNodesListIsNotTheOddOne) {
  NodeFabric table = rails(3);
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_[12]"};
  Answered master =
      ask_template(equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5")})})), policy, &table);
  Answered worker = ask_template(equipped(kHostPod), policy, &table);
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(worker.answer.findings, IsEmpty());
  EXPECT_FALSE(master.answer.findings.empty());
}

TEST(Explain, WhatEnvFromMayHoldIsNotCompared) {
  const NodeFabric table = rails(2);
  Json unknown = equipped(pod({container("c")}));
  unknown["spec"]["containers"][0]["envFrom"] = {{{"configMapRef", {{"name", "nccl"}}}}};
  Answered master =
      ask_template(equipped(pod({container("c", {env_literal("NCCL_BUFFSIZE", "1")})})), kHostPolicy, &table);
  Answered worker = ask_template(unknown, kHostPolicy, &table);
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(texts_of(master.answer.findings), Not(Contains(HasSubstr("ValuesDiffer"))));
  EXPECT_THAT(worker.answer.notes, Contains(HasSubstr("envFrom may hold variables of NCCL's")));
  EXPECT_THAT(master.answer.notes, IsEmpty());
}

TEST(Explain, ANodeThatThePolicyWouldRefuseIsWarnedOf) {
  NcclPolicy policy = kHostPolicy;
  policy.fabric.expect_ports = 8;
  const NodeFabric table = rails(2);
  const Answered too_few = ask_template(equipped(kHostPod), policy, &table);
  EXPECT_THAT(texts_of(too_few.answer.findings), ElementsAre(HasSubstr("warning NoList")));
  EXPECT_THAT(too_few.text(), StartsWith("inject, but no HCA list")) << "the pod starts";
  policy.on_unresolved = OnUnresolved::Deny;
  const Answered denied = ask_template(equipped(kHostPod), policy, &table);
  ASSERT_FALSE(denied.answer.findings.empty());
  EXPECT_EQ(denied.answer.findings[0].code, Code::HeldBack);
  expect_golden(denied.answer.findings[0].sentence);
}

TEST(Explain, RoceWithoutANetworkIsTheAnswer) {
  NcclPolicy policy = policy_for("rdma/rdma_shared_device_a", Exposure::SubInterface);
  policy.fabric.link_layer = LinkLayer::Ethernet;
  const Json object = equipped(pod({container("c", {}, "rdma/rdma_shared_device_a")}, false));
  const Answered explanation = ask_template(object, policy, nullptr);
  EXPECT_THAT(texts_of(explanation.answer.findings), ElementsAre(HasSubstr("warning NoRail")));
  EXPECT_THAT(explanation.answer.notes, IsEmpty()) << "told once";
  EXPECT_THAT(explanation.text(), StartsWith("inject, but RoCE behind"));
}

TEST(Explain, HcasOfAListOfThePolicysAreThoseThatTheNodeHas) {
  const NodeFabric table = rails(4);
  NcclPolicy policy = kHostPolicy;
  for (const char* list : {"=mlx5_1,mlx5_9", "mlx5_1"}) {
    policy.hca = {HcaRule::Kind::Literal, list};
    EXPECT_THAT(ask_template(equipped(kHostPod), policy, &table).answer.in_all,
                HasSubstr(": 1 HCA of the 4 that NCCL finds"));
  }
}

TEST(Explain, ARailThatWentDownIsToldAlsoWhenItHasLeftTheList) {
  NodeFabric table = rails(4);
  EXPECT_TRUE(ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings.empty());
  table.ports[2].state = PortState::Down;
  const auto never_up = [&](const NcclPolicy& policy) {
    return ask_template(equipped(kHostPod), policy, &table).answer.findings.at(0).severity;
  };
  EXPECT_EQ(never_up(kHostPolicy), Severity::Warning) << "3 rails are not meant so";
  NcclPolicy three = kHostPolicy;
  three.fabric.expect_ports = 3;
  EXPECT_EQ(never_up(three), Severity::Info) << "a port without a cable";
  table.ports[1].state = PortState::Down;
  EXPECT_EQ(never_up(kHostPolicy), Severity::Info) << "2 rails may be all";
  table.ports[1].state = PortState::Active;
  table.ports[2].state_since = kNow - std::chrono::hours(1);
  const Answered fell = ask_template(equipped(kHostPod), kHostPolicy, &table);
  ASSERT_EQ(fell.answer.findings.size(), 1U);
  EXPECT_EQ(fell.answer.findings[0].code, Code::RailDown);
  EXPECT_EQ(fell.answer.findings[0].severity, Severity::Warning);
  expect_golden(fell.answer.findings[0].sentence);
  table.ports[2].state = PortState::Active;
  EXPECT_TRUE(ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings.empty()) << "back again";
}

TEST(Explain, WithoutAPortTheNodesReasonIsTheFirstLine) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) {
    port.state = PortState::Down;
    port.state_since = kNow - std::chrono::hours(1);
  }
  const Answered explanation = ask_template(equipped(kHostPod), kHostPolicy, &table);
  ASSERT_FALSE(explanation.answer.findings.empty());
  expect_golden(explanation.answer.findings[0].sentence + "\n" + explanation.answer.findings[0].remedy);
  Port& management = table.ports.emplace_back(table.ports[0]);
  management.hca = "mlx5_9";
  management.driver = "mlx4_core";
  management.board_id = "OTHER";
  management.rate_gbps = 25;
  management.state = PortState::Active;
  table.ports.back().state_since.reset();
  const Answered other = ask_template(equipped(kHostPod), kHostPolicy, &table);
  EXPECT_THAT(other.answer.findings.at(0).sentence, EndsWith("finds: mlx5_9, which is not the fabric."));
  EXPECT_EQ(other.answer.findings[0].remedy, words_of(Code::RailDown).remedy);
  table.ports.clear();
  const Finding none = ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings.at(0);
  EXPECT_THAT(none.sentence, HasSubstr("it has no RDMA device."));
  EXPECT_THAT(none.remedy, HasSubstr("lspci"));
}

TEST(Explain, TemplatesOfOneJobAreCompared) {
  const NodeFabric table = rails(2);
  const auto with = [&](const std::vector<Json>& env) {
    return ask_template(equipped(pod({container("c", env)})), kHostPolicy, &table);
  };
  Answered master = with({env_literal("NCCL_ALGO", "Ring")}), worker = with({});
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(
      texts_of(master.answer.findings),
      ElementsAre(
          "error ValuesDiffer: It has NCCL_ALGO Ring, which has to be equal on all ranks: not set on 1 "
          "template, Ring on 1 template. Compare spec.Worker."));
  EXPECT_THAT(worker.answer.findings, IsEmpty());
  // A file that is written later gives what its plan says, and nothing else.
  for (const char* name : {"NCCL_ALGO", "NCCL_IB_ADDR_FAMILY"}) {
    const Json own = equipped(pod({container("c", {env_literal(name, "Ring")})}));
    Answered first = ask_template(own, kHostPolicy, nullptr),
             later = ask_template(kHostPod, kHostPolicy, nullptr);
    const NamedTemplate unseen[] = {{"spec.Master", &first}, {"spec.Worker", &later}};
    compare_templates(unseen);
    const auto told = std::ranges::count(first.answer.findings, Code::ValuesDiffer, &Finding::code);
    EXPECT_EQ(told, name == std::string("NCCL_ALGO") ? 1 : 0);
  }
  Answered same = with({env_literal("NCCL_ALGO", "Ring,Tree")});
  Answered too = with({env_literal("NCCL_ALGO", "tree,ring"), env_literal("NCCL_IB_DISABLE", "0")});
  const NamedTemplate alike[] = {{"spec.Master", &same}, {"spec.Worker", &too}};
  compare_templates(alike);
  EXPECT_THAT(same.answer.findings, IsEmpty());
  EXPECT_TRUE(holds_ranks_of_one_job("PyTorchJob"));
  EXPECT_TRUE(holds_ranks_of_one_job("JobSet"));
  EXPECT_FALSE(holds_ranks_of_one_job("Deployment"));
}

TEST(Explain, AShorterListInOneTemplateOfAJobIsAFinding) {
  const NodeFabric table = rails(2);
  const auto with = [&](const std::vector<Json>& env) {
    return ask_template(equipped(pod({container("c", env)})), kHostPolicy, &table);
  };
  Answered master = with({}),
           worker = with({env_literal("NCCL_IB_HCA", "=mlx5_1"), env_literal("NCCL_IB_TC", "106")});
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(master.answer.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(worker.answer.findings),
      ElementsAre(
          "error MissingRail: It has NCCL_IB_HCA==mlx5_1 of its own, and so 1 HCA where others have 2: "
          "without mlx5_2. Compare spec.Master.",
          HasSubstr("warning ValuesDiffer: It has NCCL_IB_TC 106, which should be equal"),
          HasSubstr("info UserListShort")));
}

TEST(Explain, AContainerWithGpusThatGetsNothingIsTheAnswer) {
  const NodeFabric table = rails(2);
  Json both = equipped(pod({container("side"), container("train", {}, "nvidia.com/gpu")}));
  EXPECT_THAT(
      texts_of(ask_template(both, kHostPolicy, &table).answer.findings),
      ElementsAre("warning NoList: Container train has the GPUs and gets nothing: the RDMA resource is asked "
                  "for by container side."));
  both["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 1;
  EXPECT_THAT(ask_template(both, kHostPolicy, &table).answer.findings, IsEmpty());
}

TEST(Explain, AVariableOfAPodThatGetsNothingIsJudged) {
  const Json launcher = pod(
      {container("c", {env_literal("NCCL_IB_GID_INDX", "3"), env_literal("NCCL_SOCKET_IFNAME", "lo")}, "")});
  EXPECT_THAT(texts_of(ask_template(launcher, kHostPolicy, nullptr).answer.findings),
              ElementsAre(HasSubstr("UnknownVariable: NCCL_IB_GID_INDX is not a variable")));
}

TEST(Explain, ATemplateThatGetsNothingBesideOneThatDoesIsAFinding) {
  const NodeFabric table = rails(2);
  Answered master = ask_template(equipped(kHostPod), kHostPolicy, &table);
  Json opted_out = equipped(kHostPod);
  opted_out["metadata"]["annotations"]["nccl-env.io/inject"] = "false";
  Answered worker = ask_template(opted_out, kHostPolicy, &table);
  const Json plain = pod({container("c", {}, "cpu")});
  Answered launcher = ask_template(plain, kHostPolicy, &table);
  const NamedTemplate all[] = {
      {"spec.Master", &master}, {"spec.Worker", &worker}, {"spec.Launcher", &launcher}};
  compare_templates(all);
  EXPECT_THAT(master.answer.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(worker.answer.findings),
      ElementsAre("warning OddNode: It gets nothing from nccl-env (OptedOut), which gave others of the job "
                  "their values. Compare spec.Master."));
  EXPECT_THAT(launcher.answer.findings, IsEmpty());
}

TEST(Explain, AVariableThatCostsTheListIsTheAnswerWhereNcclThenTakesMore) {
  NodeFabric table = rails(2);
  const Json own_range = equipped(pod({container("c", {env_literal("NCCL_IB_ADDR_RANGE", "0.0.0.0/0")})}));
  EXPECT_THAT(ask_template(own_range, kHostPolicy, &table).answer.findings, IsEmpty());
  Port& management = table.ports.emplace_back(table.ports[0]);
  management.hca = "mlx5_bond_0";
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_1", "mlx5_2"};
  EXPECT_THAT(
      texts_of(ask_template(own_range, policy, &table).answer.findings),
      ElementsAre(HasSubstr("warning UserListShort: NCCL_IB_HCA is left out, so that NCCL takes other HCAs "
                            "than the node's 2: with mlx5_bond_0. The container sets NCCL_IB_ADDR_RANGE")));
}

TEST(Explain, OfAListThatIsNotKnownNothingIsSaid) {
  NodeFabric table = rails(2);
  table.ports.emplace_back(table.ports[0]).hca = "mlx5_9";
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_[0-8]"};
  const Json from = {{"name", "NCCL_IB_HCA"},
                     {"valueFrom", {{"configMapKeyRef", {{"name", "fabric"}, {"key", "hca"}}}}}};
  const Answered explanation = ask_template(equipped(pod({container("c", {from})})), policy, &table);
  EXPECT_THAT(explanation.answer.findings, IsEmpty());
  EXPECT_THAT(explanation.text(), HasSubstr("takes what NCCL_IB_HCA says, which is not known here."));
}

TEST(Explain, AFabricThatNoPortMeetsIsThePolicys) {
  const NodeFabric table = rails(2);
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_9*"};
  const Finding named = ask_template(equipped(kHostPod), policy, &table).answer.findings.at(0);
  EXPECT_THAT(named.sentence, HasSubstr("is left as fabric: no match for hcas (mlx5_9*)."));
  EXPECT_THAT(named.remedy, StartsWith("Correct spec.fabric of the policy"));
  policy.fabric.hcas.clear();
  policy.fabric.link_layer = LinkLayer::InfiniBand;
  const Finding layer = ask_template(equipped(kHostPod), policy, &table).answer.findings.at(0);
  EXPECT_THAT(layer.sentence, HasSubstr("is left as fabric: the policy wants link layer InfiniBand."));
  EXPECT_EQ(layer.remedy, named.remedy);
}

TEST(Explain, AnAbsentInterfaceOfThePolicysIsTheAnswer) {
  NcclPolicy policy = kHostPolicy;
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth7"};
  NodeFabric table = rails(2);
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.2", 24)};
  EXPECT_THAT(ask_template(equipped(kHostPod), policy, &table).text(),
              StartsWith("inject, but no NCCL_SOCKET_IFNAME (InterfaceAbsent)"));
  EXPECT_THAT(ask_template(equipped(pod({container("c")}, false)), policy, &table).answer.findings, IsEmpty())
      << "the pod has interfaces of its own";
  table.interfaces->push_back(interface("eth7", "10.0.0.3", 24));
  EXPECT_THAT(ask_template(equipped(kHostPod), policy, &table).answer.findings, IsEmpty());
}

TEST(Explain, APolicyThatTurnsItsOwnNetworkOffIsTheAnswer) {
  const NodeFabric table = rails(2);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "Socket"}}) {
    NcclPolicy policy = kHostPolicy;
    policy.env = {{name, value}};
    for (const NodeFabric* node : {&table, static_cast<const NodeFabric*>(nullptr)})
      EXPECT_THAT(texts_of(ask_template(equipped(kHostPod), policy, node).answer.findings),
                  ElementsAre(HasSubstr("error FellBack")))
          << name;
    policy.hca.kind = HcaRule::Kind::Omit;
    EXPECT_THAT(ask_template(equipped(kHostPod), policy, &table).answer.findings, IsEmpty())
        << "sockets are meant";
  }
  NcclPolicy plugin = kHostPolicy;
  plugin.env = {{"NCCL_NET", "gIB"}};
  EXPECT_THAT(ask_template(equipped(kHostPod), plugin, &table).answer.findings, IsEmpty());
}

TEST(Explain, ConstantsOfThePolicyAreJudgedLikeTheUsers) {
  const NodeFabric table = rails(2);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"UCX_NET_DEVICES", "mlx5_9:1"}, {"NCCL_NET_FORCE_MERGE", "mlx5_1,mlx5_9"}, {"NCCL_NET", "IBB"}}) {
    NcclPolicy policy = kHostPolicy;
    policy.env = {{name, value}};
    const auto found = ask_template(equipped(kHostPod), policy, &table).answer.findings;
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_THAT(found[0].remedy, HasSubstr("policy's env")) << name;
    const Json object = bound(admit(equipped(kHostPod), policy).pod, policy, &table);
    EXPECT_EQ(ask(object, all_readable(policy, table)).answer.findings.size(), 1U) << name;
  }
}

TEST(Explain, AListOfDevicesAloneIsJudgedWhereInterfacesAreNotKnown) {
  const NodeFabric table = rails(2);
  const auto with = [&](const char* name, const char* value, bool host_network) {
    Json object = equipped(pod({container("c", {env_literal(name, value)})}, host_network));
    return texts_of(
        ask_template(object, policy_for("rdma/hca", Exposure::SubInterface), &table).answer.findings);
  };
  EXPECT_THAT(with("NVSHMEM_HCA_LIST", "mlx5_99", false), ElementsAre(HasSubstr("DeviceNotAvailable")));
  EXPECT_THAT(with("NVSHMEM_HCA_LIST", "mlx5_1", false), IsEmpty());
  EXPECT_THAT(with("UCX_NET_DEVICES", "net1", false), IsEmpty()) << "may be an interface";
  EXPECT_THAT(with("NVSHMEM_HCA_PREFIX", "mlx5", true), IsEmpty()) << "is not a name";
  EXPECT_THAT(with("NCCL_NET_FORCE_MERGE", "mlx5_1,mlx5_2:1", true), IsEmpty());
  EXPECT_THAT(with("NCCL_NET_FORCE_MERGE", "mlx5_1;mlx5_9", true),
              ElementsAre(HasSubstr("NCCL stops: mlx5_9")));
}

TEST(Explain, WhatTheUserSetAgainstHimselfHasItsOwnRemedy) {
  const NodeFabric table = rails(2);
  const auto with = [&](const std::vector<Json>& env) {
    return ask_template(equipped(pod({container("c", env)})), kHostPolicy, &table, {2, 32, 3})
        .answer.findings;
  };
  const auto off = with({env_literal("NCCL_NET", "IB"), env_literal("NCCL_IB_DISABLE", "1")});
  EXPECT_THAT(texts_of(off), ElementsAre(HasSubstr("error NetworkNotFound")));
  EXPECT_EQ(off.at(0).remedy, "Remove NCCL_IB_DISABLE, or NCCL_NET.");
  EXPECT_THAT(texts_of(with({env_literal("NCCL_IB_DISABLE", "1")})),
              ElementsAre(HasSubstr("info UserListShort: NCCL_IB_DISABLE=1 turns")))
      << "sockets may be meant";
  EXPECT_THAT(texts_of(with({env_literal("NCCL_IB_HCA", "mlx5")})), IsEmpty())
      << "the node has no other devices";
  EXPECT_THAT(texts_of(with({env_literal("NCCL_SOCKET_IFNAME", "lo")})),
              ElementsAre(HasSubstr("warning LoopbackFirst")));
  EXPECT_THAT(with({env_literal("NCCL_IB_ADDR_RANGE", "11.0.0.0/8")}).at(0).remedy,
              StartsWith("Correct NCCL_IB_ADDR_RANGE"));
  EXPECT_THAT(with({env_literal("NCCL_IB_GID_INDEX", "0")}).at(0).remedy, IsEmpty()) << "its code's";
  const Finding v1 = with({env_literal("NCCL_IB_ROCE_VERSION_NUM", "1")}).at(0);
  EXPECT_EQ(v1.code, Code::RoceV1Gid);
  EXPECT_THAT(v1.remedy, StartsWith("Say 2 in NCCL_IB_ROCE_VERSION_NUM"));
}

TEST(Explain, APodThatGetsNothingByAMistakeIsToActOn) {
  Json object = equipped(kHostPod);
  object["metadata"]["annotations"]["nccl-env.io/inject"] = "yes";
  EXPECT_THAT(ask_template(object, kHostPolicy, nullptr).text(),
              StartsWith("skip, but no HCA list (InvalidInjectValue)"));
  object["metadata"]["annotations"]["nccl-env.io/inject"] = "false";
  EXPECT_THAT(ask_template(object, kHostPolicy, nullptr).answer.findings, IsEmpty()) << "is meant";
}

TEST(Explain, StatesOfATableThatDoesNotCountAreNotJudged) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) port.state = PortState::Down;
  const Json own = equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})}));
  EXPECT_THAT(texts_of(ask_template(own, kHostPolicy, &table).answer.findings),
              Contains(HasSubstr("RailDown")));
  table.time = kNow - std::chrono::hours(5);
  EXPECT_THAT(ask_template(own, kHostPolicy, &table).answer.findings, IsEmpty());
}

TEST(Explain, ASkippedPodHasNeitherContainersNorExposure) {
  const NodeFabric table = rails(2);
  const Answered explanation =
      ask_template(pod({container("c", {}, "example.com/other")}), kHostPolicy, &table);
  EXPECT_EQ(explanation.answer.reason, Reason::NotRdma);
  EXPECT_THAT(explanation.answer.findings, IsEmpty()) << "nobody knows whether RDMA is meant";
  const Json named = pod({container("c", {}, "example.com/rdma_vf")});
  EXPECT_THAT(texts_of(ask_template(named, kHostPolicy, &table).answer.findings),
              ElementsAre(HasSubstr("NotRdma")));
  EXPECT_FALSE(explanation.record.status);
  EXPECT_FALSE(explanation.answer.nccl_alone);
}

TEST(Explain, APodThatIsPatchedAlreadyIsExplainedAsBefore) {
  NcclPolicy policy = kHostPolicy;
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  NodeFabric table = rails(9);
  table.node_interface = "eth9";
  const auto before = ask_template(kHostPod, policy, &table).document();
  EXPECT_EQ(ask_template(admit(kHostPod, policy).pod, policy, &table).document(), before);
}

TEST(Explain, JsonHasTheDocumentedForm) {
  NcclPolicy policy = kHostPolicy;
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  expect_golden(ask_template(equipped(kHostPod), policy, nullptr).document().dump(2));
}

TEST(Explain, EnvLinesNameContainersWhereThereAreSeveral) {
  const NodeFabric table = rails(2);
  const NcclPolicy& policy = kHostPolicy;
  EXPECT_EQ(render_env(ask_template(kHostPod, policy, &table).record),
            "# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
  EXPECT_EQ(render_env(ask_template(pod({container("a"), container("b")}), policy, &table).record),
            "# container a\n# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n"
            "# container b\n# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
}

TEST(Explain, TextFitsATerminalAndCarriesNoControlCharacters) {
  NodeFabric table = rails(9);
  table.node_interface = "eth9";
  const std::string text = ask_template(pod({container("c\x1b[31m")}), kHostPolicy, &table).text();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Explain, ANoteOnBothOfNcclsChoicesStandsOnce) {
  NodeFabric table = rails(2);
  const std::optional<NcclSelection> alone{{{}, {}, {"Of both.", "Its own."}}},
      with_us{{{}, {}, {"Of both."}}};
  expect_golden("both", selections_text({2, 21, 5}, alone, with_us));
  expect_golden("alone", selections_text({2, 21, 5}, alone, {}));
}

TEST(Explain, TheFileThatANodeGives) {
  const NodeFabric table = rails(2);
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Answered known = ask_template(pod({container("c")}, false), policy, &table);
  EXPECT_THAT(conf_of(known), ElementsAre("NCCL_IB_GID_INDEX=3 File", "NCCL_IB_HCA==mlx5_1,mlx5_2 File",
                                          "NCCL_IB_TIMEOUT=22 File", "NCCL_IB_ADDR_FAMILY=? File"));
  EXPECT_THAT(env_of(known), ElementsAre("NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_EQ(known.answer.nccl_with_us->ports.at(0).gid_index, 3);
  EXPECT_EQ(render_env(known.record),
            "NCCL_IB_TIMEOUT=22\n# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n# of "
            "/etc/nccl.conf\nNCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
  const Answered unknown = ask_template(pod({container("c")}, false), policy, nullptr);
  EXPECT_THAT(conf_of(unknown), ElementsAre("NCCL_IB_ADDR_FAMILY=? Binding", "NCCL_IB_GID_INDEX=? Binding",
                                            "NCCL_IB_HCA=? Binding", "NCCL_IB_TIMEOUT=22 Policy"));
}

TEST(Explain, WhatIsFoundInsideThePodIsNotKnownBefore) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  const NodeFabric table = rails(2);
  const Answered explanation =
      ask_template(pod({container("c")}, false), policy, &table, kNewestNccl, with_resolver());
  EXPECT_THAT(env_of(explanation), ElementsAre("NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_THAT(conf_of(explanation), ElementsAre("NCCL_IB_ADDR_FAMILY=? Pod", "NCCL_IB_GID_INDEX=? Pod",
                                                "NCCL_IB_HCA=? Pod", "NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_TRUE(explanation.answer.nccl_alone);
  EXPECT_FALSE(explanation.answer.nccl_with_us);
  expect_golden("-o text", explanation.text());
  expect_golden("-o env", render_env(explanation.record));
  EXPECT_THAT(explanation.document()["containers"][0]["file"]["lines"][0]["value"], nullptr);
}

TEST(Explain, RanksOfOneJobOnUnlikeNodesAreTold) {
  const NodeFabric whole = rails(4), other = [] {
    NodeFabric table = rails(4);
    for (Port& port : table.ports) port.hca = "rocep" + port.hca.substr(5) + "s0";
    return table;
  }();
  NodeFabric less = rails(3), infiniband = rails(4);
  less.node_interface = "eth0";
  for (Port& port : infiniband.ports) {
    port.link_layer = LinkLayer::InfiniBand;
    port.transport = Transport::InfiniBand;
  }
  const auto odd = [&](const NodeFabric& table) {
    Answered first = ask_template(equipped(kHostPod), kHostPolicy, &whole), second = first;
    Answered last = ask_template(equipped(kHostPod), kHostPolicy, &table);
    const NamedTemplate all[] = {{"Pod/a", &first}, {"Pod/b", &last}, {"Pod/c", &second}};
    compare_templates(all);
    EXPECT_THAT(first.answer.findings, IsEmpty());
    EXPECT_THAT(second.answer.findings, IsEmpty());
    return texts_of(last.answer.findings);
  };
  EXPECT_THAT(odd(whole), IsEmpty());
  EXPECT_THAT(
      odd(less),
      ElementsAre("error MissingRail: It has 3 HCAs where others have 4: without mlx5_4. Compare Pod/a and 1 "
                  "more."));
  EXPECT_THAT(odd(other),
              ElementsAre(HasSubstr(
                  "warning OddNode: It has HCAs of another kind than most: without mlx5_1, mlx5_2")));
  EXPECT_THAT(
      odd(infiniband),
      ElementsAre(
          "error MixedLinks: It has InfiniBand, where others have RoCE: the two do not connect. Compare "
          "Pod/a and 1 more."));
}

TEST(Explain, ARankOfAnotherNetworkOrInterfaceIsTold) {
  NodeFabric table = rails(2);
  table.node_interface = "eth0";
  NcclPolicy policy = kHostPolicy;
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  policy.resources = {{"rdma/hca", Exposure::SubInterface}};
  Answered host = ask_template(equipped(kHostPod), policy, &table), too = host;
  Answered apart = ask_template(equipped(pod({container("c")}, false)), policy, &table);
  const NamedTemplate all[] = {{"Pod/a", &host}, {"Pod/b", &apart}, {"Pod/c", &too}};
  compare_templates(all);
  EXPECT_THAT(
      texts_of(apart.answer.findings),
      Contains("warning OddNode: It is not on its node's network (hostNetwork), as others are. Compare Pod/a "
               "and 1 more."));
  EXPECT_THAT(host.answer.findings, IsEmpty());
  Answered own = ask_template(equipped(pod({container("c", {env_literal("NCCL_SOCKET_IFNAME", "eth9")})})),
                              policy, &table);
  Answered usual = ask_template(equipped(kHostPod), policy, &table);
  const NamedTemplate both[] = {{"Pod/a", &own}, {"Pod/b", &usual}};
  compare_templates(both);
  EXPECT_THAT(texts_of(own.answer.findings),
              Contains(HasSubstr("NCCL_SOCKET_IFNAME=eth9 of its own, others of its node have =eth0")));
  EXPECT_THAT(usual.answer.findings, IsEmpty());
  for (const char* same : {"eth", "=eth0", "eth1,eth0", "^docker,lo"}) {
    Answered spelt = ask_template(equipped(pod({container("c", {env_literal("NCCL_SOCKET_IFNAME", same)})})),
                                  policy, &table);
    const NamedTemplate two[] = {{"Pod/a", &spelt}, {"Pod/b", &usual}};
    compare_templates(two);
    EXPECT_THAT(texts_of(spelt.answer.findings), Not(Contains(HasSubstr("OddNode")))) << same;
  }
}

TEST(Explain, ARankOfFewerNetworksIsTold) {
  NcclPolicy policy = kHostPolicy;
  policy.resources = {{"rdma/hca", Exposure::PodOwned}};
  const auto with = [&](const char* networks) {
    Json made = equipped(pod({container("c")}, false));
    made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks;
    return ask_template(made, policy, nullptr);
  };
  Answered first = with("rail-0,rail-1"), odd = with("rail-0"), last = with("rail-2,rail-3");
  const NamedTemplate all[] = {{"Pod/a", &first}, {"Pod/b", &odd}, {"Pod/c", &last}};
  compare_templates(all);
  EXPECT_THAT(first.answer.findings, IsEmpty());
  EXPECT_THAT(last.answer.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(odd.answer.findings),
      ElementsAre("warning OddNode: It asks for 1 secondary network where most ask for 2: without ml/rail-1. "
                  "Compare Pod/a and 1 more."));
  Answered more = with("rail-0,rail-1,storage"), less = with("rail-0,rail-1");
  const NamedTemplate rails_alike[] = {{"Pod/a", &more}, {"Pod/b", &less}};
  compare_templates(rails_alike);
  EXPECT_THAT(less.answer.findings, IsEmpty()) << "a network that brings no rail";
}

TEST(Explain, AReferenceThatNothingDefinesIsTheAnswer) {
  const NodeFabric table = rails(2);
  const auto told = [&](const std::vector<Json>& env) {
    return texts_of(ask_template(equipped(pod({container("c", env)})), kHostPolicy, &table).answer.findings);
  };
  EXPECT_THAT(
      told({env_literal("NCCL_IB_HCA", "$(HCAS)")}),
      ElementsAre("error ValueMisread: NCCL_IB_HCA: nothing before it defines $(HCAS), so the text stays "
                  "as it is; no such HCA is there; NCCL uses sockets"));
  EXPECT_THAT(told({env_literal("HCAS", "=mlx5_1,mlx5_2"), env_literal("NCCL_IB_HCA", "$(HCAS)")}),
              IsEmpty());
}

TEST(Explain, ASlowRailOfTheListIsTold) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) port.rate_gbps = port.max_rate_gbps = 400;
  EXPECT_THAT(ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings, IsEmpty());
  table.ports[1].rate_gbps = 100;
  EXPECT_THAT(
      texts_of(ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings),
      ElementsAre("warning RateLow: A port of the list runs slower than it did since the node booted: "
                  "mlx5_2:1 at 100 of 400 Gb/s."));
  const auto told = [&] {
    return texts_of(ask_template(equipped(kHostPod), kHostPolicy, &table).answer.findings);
  };
  table.ports[1].state = PortState::Down;
  EXPECT_THAT(told(), Not(Contains(HasSubstr("RateLow")))) << "down, which is told otherwise";
  table.ports[1].state = PortState::Active;
  table.ports[1].rate_gbps.reset();
  EXPECT_THAT(told(), IsEmpty()) << "never known";
  table.ports[1].rate_gbps = 400;
  EXPECT_THAT(told(), IsEmpty()) << "back again";
}

TEST(Explain, InAPodOfItsOwnNetworkListsAreJudgedToo) {
  NodeFabric table = rails(2);
  NcclPolicy policy = kHostPolicy;
  policy.resources = {{"rdma/hca", Exposure::SubInterface}};
  policy.hca = {HcaRule::Kind::Literal, "=mlx5_7"};
  PlanOptions options;
  options.resolver.emplace().image = "example.org/resolver:1";
  const auto told = [&](const std::vector<Json>& env) {
    return texts_of(
        ask_template(equipped(pod({container("c", env)}, false)), policy, &table, {2, 21, 5}, options)
            .answer.findings);
  };
  EXPECT_THAT(told({}), Contains(HasSubstr("error NoSuchDevice: NCCL_IB_HCA names what matches no port")));
  policy.hca = {};
  EXPECT_THAT(told({}), Not(Contains(HasSubstr("NoSuchDevice"))));
  EXPECT_THAT(
      told({env_literal("NCCL_SOCKET_IFNAME", "mlx5_1")}),
      Contains("warning NoInterface: NCCL_SOCKET_IFNAME names an HCA, where an interface has to stand: "
               "mlx5_1"));
  table.rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  EXPECT_THAT(told({}),
              Contains(HasSubstr("warning DeviceNotOpened: node-a: RDMA devices are in exclusive")));
  table.rdma_namespace_mode = RdmaNamespaceMode::Shared;
  EXPECT_THAT(told({}), Not(Contains(HasSubstr("exclusive"))));
}

TEST(Explain, FewerNetworksThanThePolicyExpectsAreToldAlsoWhereThePodLooksItself) {
  NcclPolicy policy = kHostPolicy;
  policy.resources = {{"rdma/hca", Exposure::SubInterface}};
  policy.fabric.expect_ports = 4;
  PlanOptions options;
  options.resolver.emplace().image = "example.org/resolver:1";
  const NodeFabric table = rails(4);
  const auto told = [&](const char* networks) {
    Json made = equipped(pod({container("c")}, false));
    made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks;
    return texts_of(ask_template(made, policy, &table, {2, 21, 5}, options).answer.findings);
  };
  EXPECT_THAT(told("a,b"), Contains("warning MissingRail: The pod's networks bring 2 of 4 rails."));
  EXPECT_THAT(told("a,b,c,d"), IsEmpty());
  policy.fabric.expect_ports.reset();
  EXPECT_THAT(told("a,b"),
              ElementsAre("info MissingRail: The pod's networks bring 2 of the node's 4 rails."));
  EXPECT_THAT(told("a,b,c,d"), IsEmpty());
}

TEST(Explain, AnEmptyListOfTheUsersIsCalledEmpty) {
  NodeFabric table = rails(2);
  table.ports.emplace_back(table.ports[0]).hca = "mlx5_9";
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_[0-8]"};
  EXPECT_THAT(
      texts_of(ask_template(equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "")})})), policy, &table)
                   .answer.findings),
      ElementsAre(HasSubstr("UserListShort: NCCL_IB_HCA is the user's own, empty, which counts as unset, and "
                            "takes more than the node's 2 HCAs")));
}

TEST(Explain, ARankBeyondALimitGetsNothingByNobodysChoice) {
  Json made = equipped(kHostPod);
  made["metadata"]["annotations"]["example.org/long"] = std::string(250'000, 'x');
  const Answered beyond = ask_template(made, kHostPolicy, nullptr);
  EXPECT_EQ(beyond.answer.reason, Reason::BudgetExceeded);
  EXPECT_THAT(texts_of(beyond.answer.findings),
              ElementsAre(HasSubstr("warning NoList: No HCA list (BudgetExceeded)")));
}

TEST(Explain, APodWithGpusAndRdmaNetworksThatAsksForNoResourceIsTold) {
  Json made = pod({container("c", {}, "nvidia.com/gpu")}, false);
  EXPECT_THAT(
      texts_of(ask_template(made, kHostPolicy, nullptr).answer.findings),
      ElementsAre("info NoList: The pod has GPUs and asks for no RDMA resource (rdma/hca: 1): NCCL uses TCP "
                  "if it talks to pods of other nodes."));
  made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "rdma-net-0";
  EXPECT_THAT(
      texts_of(ask_template(made, kHostPolicy, nullptr).answer.findings),
      ElementsAre(AllOf(HasSubstr("The pod has the GPUs and the networks of a rank (ml/rdma-net-0), and "
                                  "asks for no RDMA resource."),
                        EndsWith("So NCCL finds no HCA, and uses sockets."))));
  made["spec"]["resourceClaims"] = {{{"name", "nics"}, {"resourceClaimTemplateName", "nics"}}};
  EXPECT_THAT(ask_template(made, kHostPolicy, nullptr).answer.findings, IsEmpty()) << "it may ask by a claim";
}

TEST(Explain, AnImageTooOldForTheSearchOfThePolicyIsAnErrorUnlessRowZeroIsRight) {
  NcclPolicy policy = kHostPolicy;
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  const Json made = equipped(pod({container("c", {env_literal("NCCL_VERSION", "2.19.3-1")})}));
  const auto found = [&](const NodeFabric* table) {
    return texts_of(ask_template(made, policy, table).answer.findings);
  };
  const NodeFabric three = rails_node(2, 3);
  NodeFabric zero = rails_node(2, 0);
  for (Port& port : zero.ports) port.gids->erase(port.gids->begin(), port.gids->end() - 1);
  EXPECT_THAT(found(nullptr), IsEmpty()) << "the fabric may be InfiniBand";
  EXPECT_THAT(found(&three),
              ElementsAre(AllOf(HasSubstr("error NcclTooOld: NCCL_VERSION=2.19.3-1: an NCCL before"),
                                HasSubstr("write gidIndex: Pin there."))));
  EXPECT_THAT(found(&zero), Not(Contains(HasSubstr("NcclTooOld"))));
  const Answered told = ask_template(equipped(pod({container("c")})), policy, &three, {2, 19, 3});
  EXPECT_THAT(texts_of(told.answer.findings),
              ElementsAre(HasSubstr("error NcclTooOld: NCCL 2.19.3: an NCCL")))
      << "by --nccl-version, in place of what row 0 is";
  EXPECT_THAT(ask_template(made, policy, &three, kNewestNccl).text(), Not(HasSubstr("(assumed)")));
  EXPECT_THAT(told.text(), HasSubstr("NCCL 2.19.3 alone"));
  policy.fabric.link_layer = LinkLayer::Ethernet;
  EXPECT_THAT(found(nullptr), ElementsAre(HasSubstr("NcclTooOld")));
  NodeFabric mixed = three;
  mixed.ports[1].gids->back().index = 5;
  EXPECT_THAT(found(&mixed), Contains(HasSubstr("and none serves all ports of the node.")));
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
  EXPECT_THAT(found(&three), IsEmpty());
  EXPECT_THAT(found(&mixed), Contains(HasSubstr("and none serves all ports of the node.")));
}

TEST(Explain, FaultsOfNcclsChoiceHaveTheRemedyThatMendsThem) {
  NodeFabric table = rails(2);
  const auto remedy_of_first = [&](const std::vector<Json>& env, NcclVersion version) {
    const Answered told = ask_template(equipped(pod({container("c", env)})), kHostPolicy, &table, version);
    return told.answer.findings.empty() ? std::string()
                                        : std::string(remedy_of(told.answer.findings.front()));
  };
  const Json list = env_literal("NCCL_IB_HCA", "=mlx5_1,mlx5_2");
  EXPECT_THAT(remedy_of_first({list}, {2, 20, 5}), StartsWith("Set NCCL_IB_GID_INDEX to the row"));
  EXPECT_EQ(remedy_of_first({list}, {2, 21, 5}), "");
  Interface eth0;
  eth0.name = "eth0";
  eth0.up = true;
  eth0.addresses.emplace().push_back({parse_ip("10.0.0.1").value(), 24});
  table.interfaces = {eth0};
  EXPECT_THAT(remedy_of_first({list, env_literal("NCCL_SOCKET_FAMILY", "AF_INET6")}, {2, 21, 5}),
              StartsWith("Remove NCCL_SOCKET_FAMILY"));
  EXPECT_EQ(remedy_of_first({list, env_literal("NCCL_SOCKET_FAMILY", "AF_INET")}, {2, 21, 5}), "");
  for (Port& port : table.ports)
    port.gids = std::vector<GidRow>{row(0, gid("fe80::1"), GidType::RoCEv1, "eth1"),
                                    row(3, gid("fd00::1"), GidType::RoCEv2, "eth1")};
  EXPECT_THAT(remedy_of_first({list}, {2, 21, 5}), StartsWith("Set NCCL_IB_ADDR_FAMILY=AF_INET6"));
  for (Port& port : table.ports) port.gids->clear();
  EXPECT_THAT(remedy_of_first({list}, {2, 21, 5}), StartsWith("Give the rail's interface a routed address"));
}

}  // namespace
}  // namespace nccl_env::template_answer_test
