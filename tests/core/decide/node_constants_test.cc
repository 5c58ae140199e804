// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/node_constants.h"

#include <random>

#include "core/decide/decided.h"
#include "support/golden.h"
#include "support/matchers.h"

namespace nccl_env::tests::node_constants_test {
namespace {

constexpr const char* kQps = "NCCL_IB_QPS_PER_CONNECTION";
constexpr const char* kTc = "NCCL_IB_TC";

NodeFabric infiniband(int count = 4) {
  NodeFabric table;
  table.name = "node-i";
  for (int i = 0; i < count; ++i) table.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  return table;
}

NodeCondition layer(LinkLayer wanted) {
  NodeCondition when;
  when.link_layer = wanted;
  return when;
}

NodeCondition rate(double gbps) {
  NodeCondition when;
  when.min_rate_gbps = gbps;
  return when;
}

NodeCondition boards(std::vector<std::string> globs) {
  NodeCondition when;
  when.boards = std::move(globs);
  return when;
}

NcclPolicy varied(std::vector<PolicyVariant> variants) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.variants = std::move(variants);
  return policy;
}

NcclPolicy by_layer() {
  return varied({{layer(LinkLayer::InfiniBand), {{kQps, "4"}}},
                 {layer(LinkLayer::Ethernet), {{kQps, "8"}, {kTc, "106"}}}});
}

NodeValues constants(const NcclPolicy& policy, const NodeFabric& table) {
  return settle_policy(policy, table.name, &table, {kNow}).constants;
}

std::string omitted(const NodeValues& values, std::string_view name, bool in_golden = true) {
  for (const Value& omission : values.omitted) {
    if (omission.name != name) continue;
    std::string reason(to_string(*omission.reason));
    if (in_golden) expect_golden(omission.name + " " + reason, omission.detail);
    return reason;
  }
  return {};
}

TEST(NodeConstants, AreOfTheFirstVariantThatHolds) {
  EXPECT_THAT(constants(by_layer(), rails(4)).set, ElementsAre(Pair(kQps, "8"), Pair(kTc, "106")));
  const NodeValues values = constants(by_layer(), infiniband());
  EXPECT_THAT(values.set, ElementsAre(Pair(kQps, "4")));
  EXPECT_EQ(omitted(values, kTc), "ConditionNotMet");
  EXPECT_EQ(values.deny, std::nullopt);

  const NcclPolicy overlapping = varied({{rate(400), {{kQps, "1"}}}, {rate(100), {{kQps, "2"}}}});
  EXPECT_THAT(constants(overlapping, infiniband()).set, ElementsAre(Pair(kQps, "1")));
  const NodeValues slower = constants(overlapping, rails(4));
  EXPECT_THAT(slower.set, ElementsAre(Pair(kQps, "2")));
  expect_golden(slower.why.at(kQps));
}

TEST(NodeConstants, EnvIsForNodesThatNoVariantFits) {
  NcclPolicy policy = by_layer();
  policy.variants.erase(policy.variants.begin() + 1);
  policy.env = {{kQps, "2"}, {"NCCL_IB_TIMEOUT", "22"}};
  EXPECT_THAT(constants(policy, infiniband()).set, ElementsAre(Pair(kQps, "4")));
  const NodeValues values = constants(policy, rails(4));
  EXPECT_THAT(values.set, ElementsAre(Pair(kQps, "2"))) << "the timeout is every node's";
  expect_golden(values.why.at(kQps));
}

TEST(NodeConstants, EveryConditionHasToHoldOnEveryPortOfTheFabric) {
  NodeCondition both = layer(LinkLayer::InfiniBand);
  both.boards = {"MT_0000000838", "MT_00000009*"};
  both.min_rate_gbps = 400;
  const NcclPolicy policy = varied({{both, {{kQps, "4"}}}});
  NodeFabric table = infiniband();
  table.ports.push_back(roce_port("mlx5_9", "eth0", "10.0.0.1"));  // not of the fabric
  EXPECT_THAT(constants(policy, table).set, ElementsAre(Pair(kQps, "4")));
  both.boards = {"MT_0000000223"};
  EXPECT_EQ(omitted(constants(varied({{both, {{kQps, "4"}}}}), table), kQps), "ConditionNotMet");
}

// Half of a job's ranks bind while a switch is down: they get what the others got.
TEST(NodeConstants, AreTheSameInEveryStateOfTheRails) {
  const NcclPolicy policy = varied({{rate(200), {{kQps, "8"}}}, {layer(LinkLayer::Ethernet), {{kQps, "2"}}}});
  const NodeFabric well = rails(8);
  const auto expected = constants(policy, well).set;
  EXPECT_THAT(expected, ElementsAre(Pair(kQps, "8")));
  for (const std::size_t down : {1u, 4u, 8u}) {
    for (const auto ago : {std::chrono::minutes(1), std::chrono::minutes(120)}) {
      NodeFabric table = well;
      for (std::size_t i = 0; i < down; ++i) {
        Port& port = table.ports[i];
        port.state = PortState::Down;
        port.state_since = kNow - ago;
        port.max_rate_gbps = port.rate_gbps;
        port.rate_gbps = 10;  // what the driver falls back to
        port.gids->clear();
      }
      EXPECT_EQ(constants(policy, table).set, expected) << down << " down";
    }
  }
}

TEST(NodeConstants, NothingIsConcludedFromWhatIsNotKnown) {
  const NcclPolicy policy = varied({{rate(400), {{kQps, "1"}}}, {layer(LinkLayer::Ethernet), {{kQps, "2"}}}});
  NodeFabric table = rails(4);
  for (Port& port : table.ports) port.rate_gbps.reset();
  const NodeValues values = constants(policy, table);
  EXPECT_THAT(values.set, IsEmpty()) << "the second could be the wrong one";
  EXPECT_EQ(omitted(values, kQps), "ConditionUnknown");
  EXPECT_EQ(values.deny->reason, Reason::ConditionUnknown);

  table.ports[2].rate_gbps = 200;
  for (Port& port : table.ports) port.board_id.reset();
  EXPECT_THAT(constants(policy, table).set, ElementsAre(Pair(kQps, "2"))) << "one slow port is enough";
  EXPECT_EQ(omitted(constants(varied({{boards({"MT_*"}), {{kQps, "1"}}}}), table), kQps), "ConditionUnknown");
}

NodeCondition label(const std::string& key, const std::string& glob) {
  NodeCondition when;
  when.node_labels.emplace(key, glob);
  return when;
}

TEST(NodeConstants, TellNodesByTheirLabels) {
  const NcclPolicy policy = varied({{label("shape", "p5*.48xlarge"), {{kQps, "8"}}},
                                    {label("shape", "*"), {{kQps, "4"}}},
                                    {layer(LinkLayer::Ethernet), {{kQps, "2"}}}});
  NodeFabric table = rails(4);
  table.node_labels = {NodeLabel{"zone", "b"}, NodeLabel{"shape", {}}};
  for (const auto& [value, qps] : {
           std::pair(std::optional<std::string>("p5e.48xlarge"), "8"),
           std::pair(std::optional<std::string>("g6"), "4"),
           std::pair(std::optional<std::string>(""), "4"),  // an empty value is one
           std::pair(std::optional<std::string>(), "2"),    // it is known to have none
       }) {
    table.node_labels->at(1).value = value;
    const NodeValues values = constants(policy, table);
    EXPECT_THAT(values.set, ElementsAre(Pair(kQps, qps)));
    expect_golden(value.value_or("no label"), values.why.at(kQps));
  }
}

TEST(NodeConstants, ALabelThatIsNotKnownEndsTheSearch) {
  NcclPolicy policy = varied({{label("shape", "a"), {{kQps, "8"}}}, {rate(1), {{kQps, "4"}}}});
  policy.env = {{kQps, "2"}};
  NodeFabric table = rails(4);
  NodeValues values = constants(policy, table);  // an older agent's
  EXPECT_EQ(omitted(values, kQps), "ConditionUnknown");
  EXPECT_EQ(values.deny->reason, Reason::ConditionUnknown);
  table.node_labels = {NodeLabel{"zone", "a"}};  // an agent that was not asked for it
  values = constants(policy, table);
  EXPECT_EQ(omitted(values, kQps), "ConditionUnknown");
  EXPECT_THAT(values.set, IsEmpty());
  // Another condition that does not hold decides all the same.
  policy.variants[0].when.link_layer = LinkLayer::InfiniBand;
  EXPECT_THAT(constants(policy, table).set, ElementsAre(Pair(kQps, "4")));
}

// Labels need no fabric: what they decide is given where the fabric cannot be told, and nothing else is.
TEST(NodeConstants, ByLabelsAloneNeedNoFabric) {
  NcclPolicy policy = varied({{label("shape", "a"), {{kQps, "8"}}}, {rate(1), {{kQps, "4"}, {kTc, "96"}}}});
  NodeFabric table = rails(2);
  table.ports.push_back(ib_port("mlx5_8"));
  table.node_labels = {NodeLabel{"shape", "a"}};
  NodeValues values = constants(policy, table);
  EXPECT_THAT(values.set, ElementsAre(Pair(kQps, "8")));
  EXPECT_EQ(omitted(values, kTc), "AmbiguousFabric");
  EXPECT_EQ(values.deny->reason, Reason::AmbiguousFabric);
  table.node_labels = {NodeLabel{"shape", "b"}};
  values = constants(policy, table);
  EXPECT_EQ(omitted(values, kQps), "AmbiguousFabric");
  policy.variants[1].when.node_labels = {{"shape", "a"}};
  EXPECT_EQ(omitted(constants(policy, table), kQps), "ConditionNotMet");
}

// Over sequences of states: a constant is the one that the label as it is now asks for, and none where the
// label is not known, whatever came before and whatever the rails do.
TEST(NodeConstants, FollowTheLabelThroughEverySequenceOfStates) {
  using Labels = std::vector<NodeLabel>;
  const NodeLabel zone{"zone", "a"};
  const std::pair<std::optional<Labels>, const char*> states[] = {
      {std::nullopt, ""},  // an older agent's
      {Labels{zone}, ""},  // of one that was not asked for it
      {Labels{zone, {"shape", std::nullopt}}, "2"},
      {Labels{zone, {"shape", ""}}, "2"},
      {Labels{zone, {"shape", "a1"}}, "8"},
      {Labels{zone, {"shape", "b"}}, "4"},
  };
  NcclPolicy policy = varied({{label("shape", "a*"), {{kQps, "8"}}}, {label("shape", "b"), {{kQps, "4"}}}});
  policy.env = {{kQps, "2"}};
  NodeFabric table = rails(8);
  std::mt19937 random(7);
  for (int step = 0; step < 300; ++step) {
    const auto& [labels, wanted] = states[random() % std::size(states)];
    table.node_labels = labels;
    Port& port = table.ports[random() % table.ports.size()];
    port.state = random() % 2 == 0 ? PortState::Down : PortState::Active;
    port.state_since = kNow - std::chrono::minutes(random() % 30);

    const NodeValues values = constants(policy, *read_node_fabric(to_json(table).dump()));
    if (*wanted) {
      ASSERT_THAT(values.set, ElementsAre(Pair(kQps, wanted))) << step;
    } else {
      ASSERT_THAT(values.set, IsEmpty()) << step;
      ASSERT_EQ(omitted(values, kQps, false), "ConditionUnknown") << step;
    }
  }
}

TEST(NodeConstants, ANodeWithoutATableHasNone) {
  EXPECT_EQ(omitted(settle_policy(by_layer(), "n", nullptr, {kNow}).constants, kQps), "NoTable");
  NodeFabric table = rails(4);
  table.time = kNow - std::chrono::hours(4);
  const NodeValues stale = constants(by_layer(), table);
  EXPECT_EQ(omitted(stale, kTc), "StaleTable");
  EXPECT_EQ(stale.deny->reason, Reason::StaleTable);
}

std::map<std::string, std::string> bound_env(const Json& before, const NcclPolicy& policy,
                                             const NodeFabric& table) {
  return nccl_environment(bind_to_node(settled(before, policy).pod, binding_of(policy, &table)), 0);
}

TEST(NodeConstants, AUsersOwnValueWins) {
  const Json before = pod({container("c", {env_literal(kQps, "2")})});
  EXPECT_EQ(bound_env(before, by_layer(), rails(4))[kQps], "2");
  EXPECT_EQ(reason_of(admit(before, by_layer()).plan, kQps), "UserSet");
}

// A pod can be annotated before it is bound.
TEST(NodeConstants, ABindingWritesWhatItHasNoValueFor) {
  const NodeFabric table = infiniband();
  const auto written = binding_of(by_layer(), &table).annotations;
  EXPECT_EQ(written.at("podowned.nccl-env.io/nccl.conf"), "NCCL_IB_QPS_PER_CONNECTION=4\n");
  EXPECT_THAT(written.at("nccl-env.io/node"), HasSubstr(R"("NCCL_IB_TC":"ConditionNotMet")"));
  EXPECT_EQ(binding_of(by_layer(), nullptr).annotations.at("podowned.nccl-env.io/nccl.conf"), "");
}

// By file, and by the file that the pod writes itself.
TEST(NodeConstants, AreTheSameInEveryFile) {
  NcclPolicy policy = by_layer();
  policy.env = {{kQps, "2"}};
  for (const NodeFabric& table : {rails(4), infiniband()}) {
    const BindingPlan plan = binding_of(policy, &table);
    const std::string line = std::string(kQps) + "=" + (table.name == "node-i" ? "4" : "8") + "\n";
    for (const char* way : {"hostnetwork", "subinterface", "podowned"})
      EXPECT_THAT(plan.annotations.at(std::string(way) + ".nccl-env.io/nccl.conf"), HasSubstr(line)) << way;

    // The pod sees two functions of another board, and does not ask itself what it is.
    NodeFabric seen = rails(2);
    for (Port& port : seen.ports) port.board_id = "MT_other";
    const Json waiting = admit(pod({container("c")}, false), policy, nullptr, with_resolver()).pod;
    const auto found = written_by(bind_to_node(waiting, plan), seen);
    for (const auto& [name, value] : plan.pod_owned.set) EXPECT_EQ(found.at(name), value) << name;
    EXPECT_EQ(found.contains(kTc), plan.pod_owned.set.contains(kTc));
  }
}

TEST(NodeConstants, AFamilyOfTheirsDecidesTheIndexWithThem) {
  NcclPolicy policy = varied({{boards({"MT_0000000223"}), {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}}});
  policy.resources = {{"rdma/hca", Exposure::Host}};
  NodeFabric table = rails(2);
  for (Port& port : table.ports)
    port.gids->push_back(
        row(5, gid("fd00::" + port.hca.substr(5)), GidType::RoCEv2, "eth" + port.hca.substr(5)));
  auto env = bound_env(pod({container("c")}), policy, table);
  EXPECT_EQ(env["NCCL_IB_ADDR_FAMILY"], "AF_INET6");
  EXPECT_EQ(env["NCCL_IB_GID_INDEX"], "5");
  for (Port& port : table.ports) port.board_id = "MT_0000000838";
  env = bound_env(pod({container("c")}), policy, table);
  EXPECT_EQ(env["NCCL_IB_ADDR_FAMILY"], "");
  EXPECT_EQ(env["NCCL_IB_GID_INDEX"], "3");
}

}  // namespace
}  // namespace nccl_env::tests::node_constants_test
