// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/preview_print.h"
#include "nccl_env/core/explain/template_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/asked.h"
#include "core/conf_pods.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/plan.h"
#include "support/golden.h"

namespace nccl_env::preview_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Explanation explained(const Json& object, const NcclPolicy& policy, const NodeFabric* table,
                      NcclVersion version = {2, 21, 5}, const PlanOptions& options = {}) {
  ReviewParser parser;
  const std::string text = object.dump();
  const Result<Pod> parsed = parser.parse_pod(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  const Plan plan = plan_pod(*parsed, policy, options);
  ExplainInput input{*parsed, object, plan, "", nullptr, table, version};
  input.options = options;
  input.policy = &policy;
  input.context = NodeContext{kNow};
  if (!table) return explain(input);
  const BindingPlan binding =
      plan_binding(std::make_shared<const NcclPolicy>(policy), table->name, table, NodeContext{kNow});
  input.node = table->name;
  input.binding = &binding;
  return explain(input);
}

// "NAME=VALUE SOURCE" of the first container; "?" for a value that only Binding knows.
std::vector<std::string> env_of(const Explanation& explanation) {
  std::vector<std::string> env;
  for (const Value& variable : explanation.containers.at(0).env)
    env.push_back(variable.name + "=" + variable.value.value_or("?") + " " +
                  std::string(source_word(variable)));
  return env;
}

// The same of its nccl.conf.
std::vector<std::string> conf_of(const Explanation& explanation) {
  std::vector<std::string> lines;
  const auto& conf = explanation.containers.at(0).conf;
  if (!conf) return {"no file"};
  for (const Value& line : *conf)
    lines.push_back(line.name + "=" + line.value.value_or("?") + " " + std::string(source_word(line)));
  return lines;
}

std::vector<std::string> omitted_of(const Explanation& explanation) {
  std::vector<std::string> omitted;
  for (const Value& omission : explanation.containers.at(0).omitted)
    omitted.push_back(omission.name + " " + std::string(to_string(*omission.reason)));
  return omitted;
}

const Json kHostPod = pod({container("c")});
const NcclPolicy kHostPolicy = policy_for("rdma/hca");

TEST(Preview, SaysWhichVariantGivesFabricAndInterface) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::Host);
  NodeCondition shape;
  shape.node_labels.emplace("shape", "a");
  FabricRule two;
  two.hcas = {"mlx5_[12]"};
  policy.variants = {{shape, {}, two, SocketInterfaceRule{SocketInterfaceRule::Kind::Literal, "eth7"}}};
  NodeFabric table = rails(4);
  table.node_labels = {NodeLabel{"shape", "a"}};
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.2", 24)};
  const Explanation own = explained(pod({container("c")}, false), policy, &table);
  EXPECT_THAT(conf_of(own), ElementsAre("NCCL_IB_HCA==mlx5_1,mlx5_2 Node", "NCCL_IB_GID_INDEX=3 Node",
                                        "NCCL_SOCKET_IFNAME=eth7 Node"));
  expect_golden(render_text(own));
  EXPECT_THAT(omitted_of(explained(kHostPod, policy, &table)),
              ElementsAre("NCCL_SOCKET_IFNAME InterfaceAbsent"));
  table.node_labels.reset();
  EXPECT_THAT(omitted_of(explained(kHostPod, policy, &table)),
              UnorderedElementsAre("NCCL_IB_HCA ConditionUnknown", "NCCL_IB_GID_INDEX ConditionUnknown",
                                   "NCCL_SOCKET_IFNAME ConditionUnknown"));
}

TEST(Explain, ThePodsOwnRowsAreNotGuessedBehindASubInterface) {
  const NodeFabric table = rails(2);
  const Explanation explanation =
      explained(pod({container("c")}, false), policy_for("rdma/hca", Exposure::SubInterface), &table);
  EXPECT_THAT(conf_of(explanation), ElementsAre("NCCL_IB_HCA==mlx5_1,mlx5_2 Node"));
  EXPECT_THAT(omitted_of(explanation), Contains("NCCL_IB_GID_INDEX PodGidUnknown"));
  for (const auto& port : explanation.nccl_with_us->ports) EXPECT_FALSE(port.gid_index) << port.hca;
  expect_golden(render_text(explanation));
}

TEST(Explain, NothingIsToldOfNcclWhereThePodOwnsItsDevices) {
  const NodeFabric table = rails(2);
  const Explanation explanation =
      explained(pod({container("c")}, false), policy_for("rdma/hca", Exposure::PodOwned), &table);
  EXPECT_THAT(omitted_of(explanation), Contains("NCCL_IB_HCA PodOwnsDevices"));
  EXPECT_FALSE(explanation.nccl_alone);
}

TEST(Explain, DryRunIsASkipThatTellsWhatWouldBe) {
  NcclPolicy policy = kHostPolicy;
  policy.mode = PolicyMode::DryRun;
  const NodeFabric table = rails(2);
  const Explanation explanation = explained(kHostPod, policy, &table);
  EXPECT_FALSE(explanation.inject);
  EXPECT_EQ(explanation.reason, Reason::DryRun);
  EXPECT_THAT(conf_of(explanation), Contains("NCCL_IB_GID_INDEX=3 Node"));
  EXPECT_THAT(explained(equipped(kHostPod), policy, &table).findings, IsEmpty()) << "nothing is lost";
  NcclPolicy looks = policy;
  looks.resources = {{"rdma/hca", Exposure::SubInterface}};
  const Json apart = equipped(pod({container("c")}, false));
  EXPECT_EQ(texts_of(explained(apart, looks, &table, {2, 21, 5}, with_resolver()).findings),
            (looks.mode = PolicyMode::Enforce,
             texts_of(explained(apart, looks, &table, {2, 21, 5}, with_resolver()).findings)));
}

TEST(Explain, ADryRunOfWhatWouldBeBeyondALimitSaysSo) {
  NcclPolicy policy = kHostPolicy;
  policy.mode = PolicyMode::DryRun;
  for (int i = 0; i < 12; ++i) policy.env.emplace("NCCL_X_" + std::to_string(i), "1");
  std::vector<Json> containers;
  for (int i = 0; i < 120; ++i)
    containers.push_back(container("c" + std::to_string(i), {env_literal("A", "1")}));
  const NodeFabric table = rails(2);
  const Explanation beyond = explained(equipped(pod(containers)), policy, &table);
  EXPECT_EQ(beyond.reason, Reason::BudgetExceeded);
  EXPECT_THAT(texts_of(beyond.findings), ElementsAre(HasSubstr("No HCA list (BudgetExceeded)")));
}

TEST(Explain, AStatusInAManifestIsNotJudged) {
  Json printed = equipped(kHostPod);
  printed["status"] = {
      {"phase", "Failed"},
      {"containerStatuses",
       {{{"name", "c"}, {"state", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}}}};
  const NodeFabric table = rails(2);
  EXPECT_THAT(explained(printed, kHostPolicy, &table).findings, IsEmpty());
}

TEST(Explain, TheTemplateWithItsNodesListIsNotTheOddOne) {
  NodeFabric table = rails(3);
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_[12]"};
  Explanation master =
      explained(equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5")})})), policy, &table);
  Explanation worker = explained(equipped(kHostPod), policy, &table);
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(worker.findings, IsEmpty());
  EXPECT_FALSE(master.findings.empty());
}

TEST(Explain, WhatEnvFromMayHoldIsNotCompared) {
  const NodeFabric table = rails(2);
  Json unknown = equipped(pod({container("c")}));
  unknown["spec"]["containers"][0]["envFrom"] = {{{"configMapRef", {{"name", "nccl"}}}}};
  Explanation master =
      explained(equipped(pod({container("c", {env_literal("NCCL_BUFFSIZE", "1")})})), kHostPolicy, &table);
  Explanation worker = explained(unknown, kHostPolicy, &table);
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(texts_of(master.findings), Not(Contains(HasSubstr("ValuesDiffer"))));
}

TEST(Explain, ANodeThatThePolicyWouldRefuseIsWarnedOf) {
  NcclPolicy policy = kHostPolicy;
  policy.fabric.expect_ports = 8;
  const NodeFabric table = rails(2);
  const Explanation too_few = explained(equipped(kHostPod), policy, &table);
  EXPECT_THAT(texts_of(too_few.findings), ElementsAre(HasSubstr("warning NoList")));
  EXPECT_THAT(render_text(too_few), StartsWith("  answer    inject, but no HCA list")) << "the pod starts";
  policy.on_unresolved = OnUnresolved::Deny;
  const Explanation denied = explained(equipped(kHostPod), policy, &table);
  ASSERT_FALSE(denied.findings.empty());
  EXPECT_EQ(denied.findings[0].code, Code::HeldBack);
  expect_golden(denied.findings[0].sentence);
}

TEST(Explain, RoceWithoutANetworkIsTheAnswer) {
  NcclPolicy policy = policy_for("rdma/rdma_shared_device_a", Exposure::SubInterface);
  policy.fabric.link_layer = LinkLayer::Ethernet;
  const Json object = equipped(pod({container("c", {}, "rdma/rdma_shared_device_a")}, false));
  const Explanation explanation = explained(object, policy, nullptr);
  EXPECT_THAT(texts_of(explanation.findings), ElementsAre(HasSubstr("warning NoRail")));
  EXPECT_THAT(explanation.warnings, IsEmpty()) << "told once";
  EXPECT_THAT(render_text(explanation), StartsWith("  answer    inject, but RoCE behind"));
}

TEST(Explain, HcasOfAListOfThePolicysAreThoseThatTheNodeHas) {
  const NodeFabric table = rails(4);
  NcclPolicy policy = kHostPolicy;
  for (const char* list : {"=mlx5_1,mlx5_9", "mlx5_1"}) {
    policy.hca = {HcaRule::Kind::Literal, list};
    EXPECT_THAT(sentence_of(explained(equipped(kHostPod), policy, &table)),
                HasSubstr(": 1 HCA of the 4 that NCCL finds"));
  }
}

TEST(Explain, ARailThatWentDownIsToldAlsoWhenItHasLeftTheList) {
  NodeFabric table = rails(4);
  EXPECT_TRUE(explained(equipped(kHostPod), kHostPolicy, &table).findings.empty());
  table.ports[2].state = PortState::Down;
  const auto never_up = [&](const NcclPolicy& policy) {
    return explained(equipped(kHostPod), policy, &table).findings.at(0).severity;
  };
  EXPECT_EQ(never_up(kHostPolicy), Severity::Warning) << "3 rails are not meant so";
  NcclPolicy three = kHostPolicy;
  three.fabric.expect_ports = 3;
  EXPECT_EQ(never_up(three), Severity::Info) << "a port without a cable";
  table.ports[1].state = PortState::Down;
  EXPECT_EQ(never_up(kHostPolicy), Severity::Info) << "2 rails may be all";
  table.ports[1].state = PortState::Active;
  table.ports[2].state_since = kNow - std::chrono::hours(1);
  const Explanation fell = explained(equipped(kHostPod), kHostPolicy, &table);
  ASSERT_EQ(fell.findings.size(), 1U);
  EXPECT_EQ(fell.findings[0].code, Code::RailDown);
  EXPECT_EQ(fell.findings[0].severity, Severity::Warning);
  expect_golden(fell.findings[0].sentence);
  table.ports[2].state = PortState::Active;
  EXPECT_TRUE(explained(equipped(kHostPod), kHostPolicy, &table).findings.empty()) << "back again";
}

TEST(Explain, WithoutAPortTheNodesReasonIsTheFirstLine) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) {
    port.state = PortState::Down;
    port.state_since = kNow - std::chrono::hours(1);
  }
  const Explanation explanation = explained(equipped(kHostPod), kHostPolicy, &table);
  ASSERT_FALSE(explanation.findings.empty());
  expect_golden(explanation.findings[0].sentence + "\n" + explanation.findings[0].remedy);
  Port& management = table.ports.emplace_back(table.ports[0]);
  management.hca = "mlx5_9";
  management.driver = "mlx4_core";
  management.board_id = "OTHER";
  management.rate_gbps = 25;
  management.state = PortState::Active;
  table.ports.back().state_since.reset();
  const Explanation other = explained(equipped(kHostPod), kHostPolicy, &table);
  EXPECT_THAT(other.findings.at(0).sentence, EndsWith("finds: mlx5_9, which is not the fabric."));
  EXPECT_EQ(other.findings[0].remedy, words_of(Code::RailDown).remedy);
  table.ports.clear();
  const Finding none = explained(equipped(kHostPod), kHostPolicy, &table).findings.at(0);
  EXPECT_THAT(none.sentence, HasSubstr("it has no RDMA device."));
  EXPECT_THAT(none.remedy, HasSubstr("lspci"));
}

TEST(Explain, TemplatesOfOneJobAreCompared) {
  const NodeFabric table = rails(2);
  const auto with = [&](const std::vector<Json>& env) {
    return explained(equipped(pod({container("c", env)})), kHostPolicy, &table);
  };
  Explanation master = with({env_literal("NCCL_ALGO", "Ring")}), worker = with({});
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(
      texts_of(master.findings),
      ElementsAre(
          "error ValuesDiffer: It has NCCL_ALGO Ring, which has to be equal on all ranks: not set on 1 "
          "template, Ring on 1 template. Compare spec.Worker."));
  EXPECT_THAT(worker.findings, IsEmpty());
  Explanation same = with({env_literal("NCCL_ALGO", "Ring,Tree")});
  Explanation too = with({env_literal("NCCL_ALGO", "tree,ring"), env_literal("NCCL_IB_DISABLE", "0")});
  const NamedTemplate alike[] = {{"spec.Master", &same}, {"spec.Worker", &too}};
  compare_templates(alike);
  EXPECT_THAT(same.findings, IsEmpty());
  EXPECT_TRUE(holds_ranks_of_one_job("PyTorchJob"));
  EXPECT_TRUE(holds_ranks_of_one_job("JobSet"));
  EXPECT_FALSE(holds_ranks_of_one_job("Deployment"));
}

TEST(Explain, AShorterListInOneTemplateOfAJobIsAFinding) {
  const NodeFabric table = rails(2);
  const auto with = [&](const std::vector<Json>& env) {
    return explained(equipped(pod({container("c", env)})), kHostPolicy, &table);
  };
  Explanation master = with({}),
              worker = with({env_literal("NCCL_IB_HCA", "=mlx5_1"), env_literal("NCCL_IB_TC", "106")});
  const NamedTemplate both[] = {{"spec.Master", &master}, {"spec.Worker", &worker}};
  compare_templates(both);
  EXPECT_THAT(master.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(worker.findings),
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
      texts_of(explained(both, kHostPolicy, &table).findings),
      ElementsAre("warning NoList: Container train has the GPUs and gets nothing: the RDMA resource is asked "
                  "for by container side."));
  both["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 1;
  EXPECT_THAT(explained(both, kHostPolicy, &table).findings, IsEmpty());
}

TEST(Explain, AVariableOfAPodThatGetsNothingIsJudged) {
  const Json launcher = pod(
      {container("c", {env_literal("NCCL_IB_GID_INDX", "3"), env_literal("NCCL_SOCKET_IFNAME", "lo")}, "")});
  EXPECT_THAT(texts_of(explained(launcher, kHostPolicy, nullptr).findings),
              ElementsAre(HasSubstr("UnknownVariable: NCCL_IB_GID_INDX is not a variable")));
}

TEST(Explain, ATemplateThatGetsNothingBesideOneThatDoesIsAFinding) {
  const NodeFabric table = rails(2);
  Explanation master = explained(equipped(kHostPod), kHostPolicy, &table);
  Json opted_out = equipped(kHostPod);
  opted_out["metadata"]["annotations"]["nccl-env.io/inject"] = "false";
  Explanation worker = explained(opted_out, kHostPolicy, &table);
  const Json plain = pod({container("c", {}, "cpu")});
  Explanation launcher = explained(plain, kHostPolicy, &table);
  const NamedTemplate all[] = {
      {"spec.Master", &master}, {"spec.Worker", &worker}, {"spec.Launcher", &launcher}};
  compare_templates(all);
  EXPECT_THAT(master.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(worker.findings),
      ElementsAre("warning OddNode: It gets nothing from nccl-env (OptedOut), which gave others of the job "
                  "their values. Compare spec.Master."));
  EXPECT_THAT(launcher.findings, IsEmpty());
}

TEST(Explain, AVariableThatCostsTheListIsTheAnswerWhereNcclThenTakesMore) {
  NodeFabric table = rails(2);
  const Json own_index = equipped(pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "-1")})}));
  EXPECT_THAT(explained(own_index, kHostPolicy, &table).findings, IsEmpty());
  Port& management = table.ports.emplace_back(table.ports[0]);
  management.hca = "mlx5_bond_0";
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_1", "mlx5_2"};
  EXPECT_THAT(
      texts_of(explained(own_index, policy, &table).findings),
      ElementsAre(HasSubstr("warning UserListShort: NCCL_IB_HCA is left out, so that NCCL takes other HCAs "
                            "than the node's 2: with mlx5_bond_0. The container sets NCCL_IB_GID_INDEX")));
}

TEST(Explain, OfAListThatIsNotKnownNothingIsSaid) {
  NodeFabric table = rails(2);
  table.ports.emplace_back(table.ports[0]).hca = "mlx5_9";
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_[0-8]"};
  const Json from = {{"name", "NCCL_IB_HCA"},
                     {"valueFrom", {{"configMapKeyRef", {{"name", "fabric"}, {"key", "hca"}}}}}};
  const Explanation explanation = explained(equipped(pod({container("c", {from})})), policy, &table);
  EXPECT_THAT(explanation.findings, IsEmpty());
  EXPECT_THAT(render_text(explanation), HasSubstr("takes what NCCL_IB_HCA says, which is not known here."));
}

TEST(Explain, AFabricThatNoPortMeetsIsThePolicys) {
  const NodeFabric table = rails(2);
  NcclPolicy policy = kHostPolicy;
  policy.fabric.hcas = {"mlx5_9*"};
  const Finding named = explained(equipped(kHostPod), policy, &table).findings.at(0);
  EXPECT_THAT(named.sentence, HasSubstr("is left as fabric: no match for the policy's hcas (mlx5_9*)."));
  EXPECT_THAT(named.remedy, StartsWith("Correct spec.fabric of the policy"));
  policy.fabric.hcas.clear();
  policy.fabric.link_layer = LinkLayer::InfiniBand;
  const Finding layer = explained(equipped(kHostPod), policy, &table).findings.at(0);
  EXPECT_THAT(layer.sentence, HasSubstr("is left as fabric: the policy wants link layer InfiniBand."));
  EXPECT_EQ(layer.remedy, named.remedy);
}

TEST(Explain, AnAbsentInterfaceOfThePolicysIsTheAnswer) {
  NcclPolicy policy = kHostPolicy;
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth7"};
  NodeFabric table = rails(2);
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.2", 24)};
  EXPECT_THAT(render_text(explained(equipped(kHostPod), policy, &table)),
              StartsWith("  answer    inject, but no NCCL_SOCKET_IFNAME (InterfaceAbsent)"));
  EXPECT_THAT(explained(equipped(pod({container("c")}, false)), policy, &table).findings, IsEmpty())
      << "the pod has interfaces of its own";
  table.interfaces->push_back(interface("eth7", "10.0.0.3", 24));
  EXPECT_THAT(explained(equipped(kHostPod), policy, &table).findings, IsEmpty());
}

TEST(Explain, APolicyThatTurnsItsOwnNetworkOffIsTheAnswer) {
  const NodeFabric table = rails(2);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "Socket"}}) {
    NcclPolicy policy = kHostPolicy;
    policy.env = {{name, value}};
    for (const NodeFabric* node : {&table, static_cast<const NodeFabric*>(nullptr)})
      EXPECT_THAT(texts_of(explained(equipped(kHostPod), policy, node).findings),
                  ElementsAre(HasSubstr("error FellBack")))
          << name;
    policy.hca.kind = HcaRule::Kind::Omit;
    EXPECT_THAT(explained(equipped(kHostPod), policy, &table).findings, IsEmpty()) << "sockets are meant";
  }
  NcclPolicy plugin = kHostPolicy;
  plugin.env = {{"NCCL_NET", "gIB"}};
  EXPECT_THAT(explained(equipped(kHostPod), plugin, &table).findings, IsEmpty());
}

TEST(Explain, ConstantsOfThePolicyAreJudgedLikeTheUsers) {
  const NodeFabric table = rails(2);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"UCX_NET_DEVICES", "mlx5_9:1"}, {"NCCL_NET_FORCE_MERGE", "mlx5_1,mlx5_9"}, {"NCCL_NET", "IBB"}}) {
    NcclPolicy policy = kHostPolicy;
    policy.env = {{name, value}};
    const auto found = explained(equipped(kHostPod), policy, &table).findings;
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
    return texts_of(explained(object, policy_for("rdma/hca", Exposure::SubInterface), &table).findings);
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
    return explained(equipped(pod({container("c", env)})), kHostPolicy, &table, {2, 32, 3}).findings;
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
  EXPECT_THAT(render_text(explained(object, kHostPolicy, nullptr)),
              StartsWith("  answer  skip, but no HCA list (InvalidInjectValue)"));
  object["metadata"]["annotations"]["nccl-env.io/inject"] = "false";
  EXPECT_THAT(explained(object, kHostPolicy, nullptr).findings, IsEmpty()) << "is meant";
}

TEST(Explain, StatesOfATableThatDoesNotCountAreNotJudged) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) port.state = PortState::Down;
  const Json own = equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})}));
  EXPECT_THAT(texts_of(explained(own, kHostPolicy, &table).findings), Contains(HasSubstr("RailDown")));
  table.time = kNow - std::chrono::hours(5);
  EXPECT_THAT(explained(own, kHostPolicy, &table).findings, IsEmpty());
}

TEST(Explain, ASkippedPodHasNeitherContainersNorExposure) {
  const NodeFabric table = rails(2);
  const Explanation explanation =
      explained(pod({container("c", {}, "example.com/other")}), kHostPolicy, &table);
  EXPECT_EQ(explanation.reason, Reason::NotRdma);
  EXPECT_THAT(explanation.findings, IsEmpty()) << "nobody knows whether RDMA is meant";
  const Json named = pod({container("c", {}, "example.com/rdma_vf")});
  EXPECT_THAT(texts_of(explained(named, kHostPolicy, &table).findings), ElementsAre(HasSubstr("NotRdma")));
  EXPECT_THAT(explanation.containers, IsEmpty());
  EXPECT_FALSE(explanation.exposure);
  EXPECT_FALSE(explanation.nccl_alone);
}

TEST(Explain, APodThatIsPatchedAlreadyIsExplainedAsBefore) {
  NcclPolicy policy = kHostPolicy;
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  NodeFabric table = rails(9);
  table.node_interface = "eth9";
  const auto before = to_json(explained(kHostPod, policy, &table));
  EXPECT_EQ(to_json(explained(admit(kHostPod, policy).pod, policy, &table)), before);
}

TEST(Explain, JsonHasTheDocumentedForm) {
  NcclPolicy policy = kHostPolicy;
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  expect_golden(to_json(explained(equipped(kHostPod), policy, nullptr)).dump(2));
}

TEST(Explain, EnvLinesNameContainersWhereThereAreSeveral) {
  const NodeFabric table = rails(2);
  const NcclPolicy& policy = kHostPolicy;
  EXPECT_EQ(render_env(explained(kHostPod, policy, &table)),
            "# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\n");
  EXPECT_EQ(render_env(explained(pod({container("a"), container("b")}), policy, &table)),
            "# container a\n# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\n"
            "# container b\n# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\n");
}

TEST(Explain, TextFitsATerminalAndCarriesNoControlCharacters) {
  NodeFabric table = rails(9);
  table.node_interface = "eth9";
  const std::string text = render_text(explained(pod({container("c\x1b[31m")}), kHostPolicy, &table));
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
  const Explanation known = explained(pod({container("c")}, false), policy, &table);
  EXPECT_THAT(conf_of(known), ElementsAre("NCCL_IB_HCA==mlx5_1,mlx5_2 Node", "NCCL_IB_GID_INDEX=3 Node",
                                          "NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_THAT(env_of(known), ElementsAre("NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_EQ(known.nccl_with_us->ports.at(0).gid_index, 3);
  EXPECT_EQ(render_env(known),
            "NCCL_IB_TIMEOUT=22\n# of /etc/nccl.conf\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\n");
  const Explanation unknown = explained(pod({container("c")}, false), policy, nullptr);
  EXPECT_THAT(conf_of(unknown), ElementsAre("NCCL_IB_HCA=? Binding", "NCCL_IB_GID_INDEX=? Binding",
                                            "NCCL_IB_ADDR_FAMILY=? Binding", "NCCL_IB_TIMEOUT=22 Policy"));
}

TEST(Explain, WhatIsFoundInsideThePodIsNotKnownBefore) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  const NodeFabric table = rails(2);
  const Explanation explanation =
      explained(pod({container("c")}, false), policy, &table, kNewestNccl, with_resolver());
  EXPECT_THAT(env_of(explanation), ElementsAre("NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_THAT(conf_of(explanation), ElementsAre("NCCL_IB_HCA=? Pod", "NCCL_IB_GID_INDEX=? Pod",
                                                "NCCL_IB_ADDR_FAMILY=? Pod", "NCCL_IB_TIMEOUT=22 Policy"));
  EXPECT_TRUE(explanation.nccl_alone);
  EXPECT_FALSE(explanation.nccl_with_us);
  expect_golden("-o text", render_text(explanation));
  expect_golden("-o env", render_env(explanation));
  EXPECT_THAT(to_json(explanation)["containers"][0]["conf"][0]["value"], nullptr);
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
    Explanation first = explained(equipped(kHostPod), kHostPolicy, &whole), second = first;
    Explanation last = explained(equipped(kHostPod), kHostPolicy, &table);
    const NamedTemplate all[] = {{"Pod/a", &first}, {"Pod/b", &last}, {"Pod/c", &second}};
    compare_templates(all);
    EXPECT_THAT(first.findings, IsEmpty());
    EXPECT_THAT(second.findings, IsEmpty());
    return texts_of(last.findings);
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
  Explanation host = explained(equipped(kHostPod), policy, &table), too = host;
  Explanation apart = explained(equipped(pod({container("c")}, false)), policy, &table);
  const NamedTemplate all[] = {{"Pod/a", &host}, {"Pod/b", &apart}, {"Pod/c", &too}};
  compare_templates(all);
  EXPECT_THAT(
      texts_of(apart.findings),
      Contains("warning OddNode: It is not on its node's network (hostNetwork), as others are. Compare Pod/a "
               "and 1 more."));
  EXPECT_THAT(host.findings, IsEmpty());
  Explanation own =
      explained(equipped(pod({container("c", {env_literal("NCCL_SOCKET_IFNAME", "eth9")})})), policy, &table);
  Explanation usual = explained(equipped(kHostPod), policy, &table);
  const NamedTemplate both[] = {{"Pod/a", &own}, {"Pod/b", &usual}};
  compare_templates(both);
  EXPECT_THAT(texts_of(own.findings),
              Contains(HasSubstr("NCCL_SOCKET_IFNAME=eth9 of its own, others of its node have =eth0")));
  EXPECT_THAT(usual.findings, IsEmpty());
  for (const char* same : {"eth", "=eth0", "eth1,eth0", "^docker,lo"}) {
    Explanation spelt =
        explained(equipped(pod({container("c", {env_literal("NCCL_SOCKET_IFNAME", same)})})), policy, &table);
    const NamedTemplate two[] = {{"Pod/a", &spelt}, {"Pod/b", &usual}};
    compare_templates(two);
    EXPECT_THAT(texts_of(spelt.findings), Not(Contains(HasSubstr("OddNode")))) << same;
  }
}

TEST(Explain, ARankOfFewerNetworksIsTold) {
  NcclPolicy policy = kHostPolicy;
  policy.resources = {{"rdma/hca", Exposure::PodOwned}};
  const auto with = [&](const char* networks) {
    Json made = equipped(pod({container("c")}, false));
    made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks;
    return explained(made, policy, nullptr);
  };
  Explanation first = with("rail-0,rail-1"), odd = with("rail-0"), last = with("rail-2,rail-3");
  const NamedTemplate all[] = {{"Pod/a", &first}, {"Pod/b", &odd}, {"Pod/c", &last}};
  compare_templates(all);
  EXPECT_THAT(first.findings, IsEmpty());
  EXPECT_THAT(last.findings, IsEmpty());
  EXPECT_THAT(
      texts_of(odd.findings),
      ElementsAre("warning OddNode: It asks for 1 secondary network where most ask for 2: without ml/rail-1. "
                  "Compare Pod/a and 1 more."));
  Explanation more = with("rail-0,rail-1,storage"), less = with("rail-0,rail-1");
  const NamedTemplate rails_alike[] = {{"Pod/a", &more}, {"Pod/b", &less}};
  compare_templates(rails_alike);
  EXPECT_THAT(less.findings, IsEmpty()) << "a network that brings no rail";
}

TEST(Explain, AReferenceThatNothingDefinesIsTheAnswer) {
  const NodeFabric table = rails(2);
  const auto told = [&](const std::vector<Json>& env) {
    return texts_of(explained(equipped(pod({container("c", env)})), kHostPolicy, &table).findings);
  };
  EXPECT_THAT(
      told({env_literal("NCCL_IB_HCA", "$(HCAS)")}),
      ElementsAre("error ValueMisread: NCCL_IB_HCA: nothing before it defines $(HCAS), so the text stays "
                  "as it is"));
  EXPECT_THAT(told({env_literal("HCAS", "=mlx5_1,mlx5_2"), env_literal("NCCL_IB_HCA", "$(HCAS)")}),
              IsEmpty());
}

TEST(Explain, ASlowRailOfTheListIsTold) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) port.rate_gbps = port.max_rate_gbps = 400;
  EXPECT_THAT(explained(equipped(kHostPod), kHostPolicy, &table).findings, IsEmpty());
  table.ports[1].rate_gbps = 100;
  EXPECT_THAT(
      texts_of(explained(equipped(kHostPod), kHostPolicy, &table).findings),
      ElementsAre("warning RateLow: A port of the list runs slower than it did since the node booted: "
                  "mlx5_2:1 at 100 of 400 Gb/s."));
  const auto told = [&] { return texts_of(explained(equipped(kHostPod), kHostPolicy, &table).findings); };
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
        explained(equipped(pod({container("c", env)}, false)), policy, &table, {2, 21, 5}, options).findings);
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
    return texts_of(explained(made, policy, &table, {2, 21, 5}, options).findings);
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
      texts_of(explained(equipped(pod({container("c", {env_literal("NCCL_IB_HCA", "")})})), policy, &table)
                   .findings),
      ElementsAre(HasSubstr("UserListShort: NCCL_IB_HCA is the user's own, empty, which counts as unset, and "
                            "takes more than the node's 2 HCAs")));
}

TEST(Explain, ARankBeyondALimitGetsNothingByNobodysChoice) {
  Json made = equipped(kHostPod);
  made["metadata"]["annotations"]["example.org/long"] = std::string(250'000, 'x');
  const Explanation beyond = explained(made, kHostPolicy, nullptr);
  EXPECT_EQ(beyond.reason, Reason::BudgetExceeded);
  EXPECT_THAT(texts_of(beyond.findings),
              ElementsAre(HasSubstr("warning NoList: No HCA list (BudgetExceeded)")));
}

TEST(Explain, APodWithGpusAndRdmaNetworksThatAsksForNoResourceIsTold) {
  Json made = pod({container("c", {}, "nvidia.com/gpu")}, false);
  EXPECT_THAT(explained(made, kHostPolicy, nullptr).findings, IsEmpty());
  made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "rdma-net-0";
  EXPECT_THAT(
      texts_of(explained(made, kHostPolicy, nullptr).findings),
      ElementsAre(AllOf(HasSubstr("The pod has the GPUs and the networks of a rank (ml/rdma-net-0), and "
                                  "asks for no RDMA resource."),
                        EndsWith("So NCCL finds no HCA, and uses sockets."))));
  made["spec"]["resourceClaims"] = {{{"name", "nics"}, {"resourceClaimTemplateName", "nics"}}};
  EXPECT_THAT(explained(made, kHostPolicy, nullptr).findings, IsEmpty()) << "it may ask by a claim";
}

TEST(Explain, FaultsOfNcclsChoiceHaveTheRemedyThatMendsThem) {
  NodeFabric table = rails(2);
  const auto remedy_of_first = [&](const std::vector<Json>& env, NcclVersion version) {
    const Explanation told = explained(equipped(pod({container("c", env)})), kHostPolicy, &table, version);
    return told.findings.empty() ? std::string() : std::string(remedy_of(told.findings.front()));
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
  for (Port& port : table.ports) port.gids->clear();
  EXPECT_THAT(remedy_of_first({list}, {2, 21, 5}), StartsWith("Give the rail's interface a routed address"));
}

}  // namespace
}  // namespace nccl_env::preview_test
