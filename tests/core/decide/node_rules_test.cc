// SPDX-License-Identifier: Apache-2.0
// Fabric and socket interface of a policy's variants: each pod has those of its node, or none.
#include <random>

#include "core/decide/decided.h"
#include "nccl_env/core/decide/node_constants.h"
#include "support/matchers.h"

namespace nccl_env::tests::node_rules_test {
namespace {

constexpr const char* kHca = "NCCL_IB_HCA";
constexpr const char* kGid = "NCCL_IB_GID_INDEX";
constexpr const char* kInterface = "NCCL_SOCKET_IFNAME";
constexpr const char* kTc = "NCCL_IB_TC";
using Values = std::map<std::string, std::string>;

NodeCondition shape(const std::string& glob) {
  NodeCondition when;
  when.node_labels.emplace("shape", glob);
  return when;
}

FabricRule named(const std::string& glob) {
  FabricRule rule;
  rule.hcas = {glob};
  return rule;
}

SocketInterfaceRule literal(const std::string& name) {
  return {SocketInterfaceRule::Kind::Literal, name};
}

NodeFabric node_of(const std::string& value, int ports = 4) {
  NodeFabric table = rails(ports);
  table.node_labels = {NodeLabel{"shape", value}};
  table.node_interface = "bond0";
  table.interfaces =
      std::vector<Interface>{interface("bond0", "10.0.0.2", 24), interface("ens1", "10.1.0.2", 24)};
  return table;
}

// Rails 1 and 2 on nodes of shape a, 3 and 4 on those of shape b, all four elsewhere.
NcclPolicy two_shapes(Exposure exposure = Exposure::SubInterface) {
  NcclPolicy policy = policy_for("rdma/hca", exposure);
  policy.fabric = named("mlx5_[1-4]");
  policy.variants = {
      {shape("a"), {}, named("mlx5_[12]"), literal("ens1")},
      {shape("b"), {}, named("mlx5_[34]"), SocketInterfaceRule{SocketInterfaceRule::Kind::FromNode, {}}}};
  return policy;
}

// Everything that NCCL reads in the pod's first container: its env, then the lines of its file.
Values seen_by_nccl(const Json& pod, const NodeFabric& seen) {
  Values values = nccl_environment(pod, 0);
  std::erase_if(values, [](const auto& value) { return value.second.empty(); });
  if (!init_names(pod).empty()) values.merge(written_by(pod, seen));
  return values;
}

Values on_node(const NcclPolicy& policy, const NodeFabric* table, bool host_network,
               const PlanOptions& options = {}, const NcclPolicy* at_binding = nullptr) {
  const Json admitted = settled(pod({container("c")}, host_network), policy, options).pod;
  NodeFabric seen = table ? *table : rails(4);
  seen.node_labels.reset();  // a pod does not see them
  return seen_by_nccl(bind_to_node(admitted, binding_of(at_binding ? *at_binding : policy, table)), seen);
}

std::string why(const NodeValues& values, const std::string& name) {
  const Value* omission = values.omission(name);
  return omission ? std::string(to_string(*omission->reason)) + ": " + omission->detail : "";
}

// A pod that looks for itself is told by its node: it has no labels, and sees ports of all shapes.
TEST(NodeRules, TheFabricIsThatOfTheFirstVariantThatHolds) {
  NodeFabric table = node_of("");
  for (const auto& [value, list] : {
           std::pair(std::optional<std::string>("a"), "=mlx5_1,mlx5_2"),
           std::pair(std::optional<std::string>("b"), "=mlx5_3,mlx5_4"),
           std::pair(std::optional<std::string>("c"), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4"),
           std::pair(std::optional<std::string>(), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4"),  // known not to be there
       }) {
    SCOPED_TRACE(value.value_or("no label"));
    table.node_labels->front().value = value;
    EXPECT_EQ(on_node(two_shapes(Exposure::Host), &table, true)[kHca], list);
    EXPECT_EQ(on_node(two_shapes(Exposure::Host), &table, false)[kHca], list);
    for (const Exposure exposure : {Exposure::SubInterface, Exposure::PodOwned})
      EXPECT_EQ(on_node(two_shapes(exposure), &table, false, with_resolver())[kHca], list);
  }
  table.node_labels->front().value = "b";
  EXPECT_EQ(binding_of(two_shapes(Exposure::Host), &table).host.why.at(kHca),
            "fabric of variants[1]: label shape \"b\"; not variants[0]: label shape is \"b\", not a");
}

// hostNetwork pods have an interface of the node, which the table checks; others one of their own.
TEST(NodeRules, TheInterfaceIsThatOfThePodsNetwork) {
  struct Row {
    const char* value;
    bool there;  // on the node; the pod may have one all the same
    const char *host_network, *own;
  };
  for (const Row& row : {Row{"a", true, "ens1", "ens1"}, Row{"a", false, "", "ens1"},
                         Row{"b", true, "=bond0", ""}, Row{"c", true, "", ""}}) {
    NodeFabric table = node_of(row.value);
    if (!row.there) table.interfaces->pop_back();
    for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
      for (const PlanOptions& options : {PlanOptions(), with_resolver()}) {
        SCOPED_TRACE(row.value + std::string(to_string(exposure)));
        EXPECT_EQ(on_node(two_shapes(exposure), &table, true, options)[kInterface], row.host_network);
        if (options.resolver && !row.there) continue;  // the pod sees that it has none
        EXPECT_EQ(on_node(two_shapes(exposure), &table, false, options)[kInterface], row.own);
      }
    }
  }
}

TEST(NodeRules, WhyThereIsNoInterfaceIsTold) {
  const NcclPolicy policy = two_shapes(Exposure::Host);
  NodeFabric table = node_of("c");
  BindingPlan plan = binding_of(policy, &table);
  EXPECT_THAT(why(plan.host, kInterface), HasSubstr("ConditionNotMet: node-a: not variants[0]"));
  EXPECT_EQ(why(plan.pod_owned, kInterface), why(plan.host, kInterface));
  table = node_of("b");
  plan = binding_of(policy, &table);
  EXPECT_EQ(why(plan.host, kInterface), "");
  EXPECT_THAT(why(values_for(plan, Exposure::Host, false), kInterface), HasSubstr("OmittedByPolicy"));
  EXPECT_THAT(plan.annotations.at("nccl-env.io/node"),
              HasSubstr(R"("ownNetwork":{"NCCL_SOCKET_IFNAME":"OmittedByPolicy"})"));
  table = node_of("a");
  table.interfaces->pop_back();
  plan = binding_of(policy, &table);
  EXPECT_THAT(why(plan.host, kInterface), HasSubstr("InterfaceAbsent"));
  EXPECT_EQ(why(values_for(plan, Exposure::Host, false), kInterface), "");
}

TEST(NodeRules, ALabelThatIsNotKnownLeavesOutWhatDependsOnIt) {
  NcclPolicy policy = two_shapes(Exposure::Host);
  NodeCondition ethernet;
  ethernet.link_layer = LinkLayer::Ethernet;
  policy.variants.push_back({ethernet, {{kTc, "96"}}});
  policy.on_unresolved = OnUnresolved::Deny;
  NodeFabric table = node_of("a");
  table.node_labels.reset();
  for (const bool some : {false, true}) {
    if (some) table.node_labels = {NodeLabel{"zone", "a"}};
    const BindingPlan plan = binding_of(policy, &table);
    for (const char* name : {kHca, kGid, kInterface, kTc})
      EXPECT_THAT(why(plan.host, name), HasSubstr("ConditionUnknown: node-a: variants[0]: its ")) << name;
    EXPECT_THAT(plan.host.set, IsEmpty());
    for (const NodeValues* values : {&plan.host, &plan.sub_interface, &plan.pod_owned})
      EXPECT_EQ(values->deny->reason, Reason::ConditionUnknown);
  }
  EXPECT_EQ(binding_of(policy, nullptr).pod_owned.deny->reason, Reason::NoTable);
  EXPECT_THAT(on_node(policy, nullptr, false), IsEmpty());
}

TEST(NodeRules, OtherConditionsAreAskedOfTheFabricThatHolds) {
  NcclPolicy policy = two_shapes(Exposure::Host);
  NodeCondition board;
  board.boards = {"MT_0000000838"};
  policy.variants.push_back({board, {{kTc, "96"}}, {}, literal("bond0")});
  NodeFabric table = node_of("b");
  for (const std::size_t i : {2u, 3u}) table.ports[i].board_id = "MT_0000000838";
  EXPECT_EQ(on_node(policy, &table, true)[kTc], "96");
  table.node_labels->front().value = "a";
  EXPECT_FALSE(on_node(policy, &table, true).contains(kTc));
  table.node_labels->front().value = "c";
  for (Port& port : table.ports) port.board_id = "MT_0000000838";
  EXPECT_EQ(on_node(policy, &table, true)[kInterface], "bond0");
}

TEST(NodeRules, APodThatIsNotToldGuessesNothing) {
  const NcclPolicy policy = two_shapes();
  const NodeFabric table = rails(4);
  for (const std::string text : {"", "[]", "{", "{\"fabric\": 7}", "{\"fabric\": {\"hcas\": [\"[\"]}}",
                                 "{\"socketInterface\": \"ens1 \"}"}) {
    const Resolution resolution =
        resolve_in_pod(policy, table, false, kNow, {{}, {{std::string(kSpecVariable), text}}, true});
    EXPECT_THAT(resolution.values, IsEmpty()) << text;
    EXPECT_FALSE(resolution.complete);
    ASSERT_EQ(resolution.omitted.size(), 3u) << text;
    for (const Value& omission : resolution.omitted) EXPECT_EQ(omission.reason, Reason::ConditionUnknown);
  }
  const Resolution without =
      resolve_in_pod(policy, table, false, kNow,
                     {{}, {{std::string(kSpecVariable), R"({"fabric":{},"socketInterface":"Omit"})"}}, true});
  EXPECT_TRUE(without.complete);
  EXPECT_EQ(without.values.at(kHca), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
  EXPECT_FALSE(without.values.contains(kInterface));
}

// The policy may be another by the time of the Binding, and the table an old one.
TEST(NodeRules, NothingOfTheTimeOfCreationCounts) {
  const NcclPolicy policy = two_shapes(Exposure::Host), shared = two_shapes();
  NcclPolicy plain = policy, turned = shared;
  plain.variants.clear();
  std::swap(turned.variants[0], turned.variants[1]);
  NodeFabric table = node_of("a");
  EXPECT_FALSE(on_node(policy, &table, false, {}, &plain).contains(kInterface));
  EXPECT_FALSE(on_node(policy, &table, false, with_resolver(), &plain).contains(kInterface));
  EXPECT_THAT(on_node(shared, &table, false, with_resolver(), &plain), IsEmpty()) << "nobody told it";
  EXPECT_EQ(on_node(shared, &table, false, with_resolver(), &turned)[kHca], "=mlx5_1,mlx5_2");
  table.time = kNow - std::chrono::hours(4);
  EXPECT_EQ(on_node(policy, &table, true)[kHca], "");
}

// Decided before the node is known: an index is looked for unless no shape has use for one.
TEST(NodeRules, InfiniBandIsSoOnlyWhereAllShapesAre) {
  NcclPolicy policy = two_shapes(Exposure::Host);
  policy.fabric.link_layer = LinkLayer::InfiniBand;
  NcclPolicy all = policy;
  for (PolicyVariant& variant : all.variants) variant.fabric->link_layer = LinkLayer::InfiniBand;
  for (const bool host_network : {true, false}) {
    const Json before = pod({container("c")}, host_network);
    EXPECT_EQ(reason_of(admit(before, policy).plan, kGid), "");
    EXPECT_EQ(reason_of(admit(before, all).plan, kGid), "InfiniBand");
  }
}

TEST(NodeRules, APodHasTheRailsOfEveryShape) {
  NcclPolicy policy = two_shapes();
  policy.fabric.expect_ports = 2;
  policy.variants[0].fabric->expect_ports = 2;
  policy.variants[1].fabric->expect_ports = 4;
  Json before = pod({container("c")}, false);
  before["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "r1,r2";
  EXPECT_EQ(reason_of(admit(before, policy).plan, kHca), "PodRailsUnknown");
  policy.variants[1].fabric->expect_ports = 2;
  EXPECT_EQ(reason_of(admit(before, policy).plan, kHca), "");
}

// Returns a rule for some of the rails, by chance.
FabricRule some_fabric(std::mt19937& random, bool any_layer) {
  FabricRule rule;
  static constexpr const char* kGlobs[] = {"mlx5_[1-4]", "mlx5_[12]", "mlx5_[34]", "*"};
  if (random() % 3) rule.hcas = {kGlobs[random() % 4]};
  if (random() % 4 == 0) rule.expect_ports = 1 + static_cast<int>(random() % 5);
  if (random() % 4 == 0)
    rule.link_layer = any_layer && random() % 2 ? LinkLayer::InfiniBand : LinkLayer::Ethernet;
  if (random() % 4 == 0) rule.subnets = {*parse_cidr("25.11.0.0/16")};
  return rule;
}

SocketInterfaceRule some_interface(std::mt19937& random) {
  if (random() % 2) return literal(random() % 2 ? "bond0" : "ens9");
  return {random() % 2 ? SocketInterfaceRule::Kind::Omit : SocketInterfaceRule::Kind::FromNode, {}};
}

// Whatever its pods are, a node that no variant means gets what it would get without them; and one that a
// variant means, what a policy would give that says the variant's words itself.
TEST(NodeRules, EqualThePolicyThatSaysItWithoutVariants) {
  std::mt19937 random(7);  // NOLINT: the same every time
  for (int round = 0; round < 300; ++round) {
    const PlanOptions options = random() % 2 ? with_resolver() : PlanOptions();
    const bool any_layer = !options.resolver;  // InfiniBand alone needs no look from inside
    NcclPolicy plain = policy_for("rdma/hca", static_cast<Exposure>(random() % 3));
    plain.fabric = some_fabric(random, any_layer);
    plain.socket_interface = some_interface(random);
    if (random() % 4 == 0) plain.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
    NcclPolicy varied = plain;
    varied.variants = {{shape("a"), {}, some_fabric(random, any_layer), some_interface(random)},
                       {shape("b*"), {{kTc, "96"}}, {}, some_interface(random)},
                       {shape("b"), {}, some_fabric(random, any_layer), {}}};
    NodeFabric table = node_of("c", 2 + static_cast<int>(random() % 3));
    if (random() % 4 == 0) table.ports.front().state = PortState::Down;
    if (random() % 4 == 0) table.interfaces.reset();
    const bool host_network = random() % 2;
    for (const std::string value : {"c", "a", "b"}) {
      table.node_labels->front().value = value;
      NcclPolicy equal = plain;
      if (value == "a") {
        equal.fabric = *varied.variants[0].fabric;
        equal.socket_interface = *varied.variants[0].socket_interface;
      } else if (value == "b") {
        equal.fabric = *varied.variants[2].fabric;
        equal.socket_interface = *varied.variants[1].socket_interface;
        equal.env.emplace(kTc, "96");
      }
      Values found = on_node(varied, &table, host_network, options);
      Values wanted = on_node(equal, &table, host_network, options);
      if (options.resolver) {
        // Only what stands in a file is checked by the init container first, and a constant stands in env.
        found.erase(kInterface);
        wanted.erase(kInterface);
      }
      EXPECT_EQ(found, wanted) << "round " << round << ", shape " << value;
    }
    table.node_labels.reset();
    Values unknown = on_node(varied, &table, host_network, options);
    if (plain.hca.kind == HcaRule::Kind::Literal) unknown.erase(kHca);
    EXPECT_THAT(unknown, IsEmpty()) << "round " << round;
  }
}

}  // namespace
}  // namespace nccl_env::tests::node_rules_test
