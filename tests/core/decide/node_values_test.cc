// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/node_values.h"
#include "core/decide/decided.h"
#include "support/matchers.h"

namespace nccl_env::tests::node_values_test {
namespace {

NodeValues values(const NcclPolicy& policy, const NodeFabric* table, Exposure exposure = Exposure::Host,
                  NodeContext context = {kNow}) {
  return node_values(policy, "node-a", table, exposure, context);
}

TEST(NodeValues, WithoutATable) {
  NcclPolicy policy = policy_for("rdma/*");
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  const NodeValues none = values(policy, nullptr);
  EXPECT_EQ(reason_of(none, "NCCL_IB_HCA"), "NoTable");
  EXPECT_EQ(reason_of(none, "NCCL_IB_GID_INDEX"), "NoTable");
  EXPECT_EQ(none.deny->reason, Reason::NoTable);
  const std::string node = binding_of(policy, nullptr).annotations.at("nccl-env.io/node");
  EXPECT_EQ(Json::parse(node)["omitted"]["host"]["NCCL_IB_HCA"], "NoTable");
  EXPECT_THAT(none.set, UnorderedElementsAre(Pair("NCCL_SOCKET_IFNAME", "eth0")));
}

TEST(NodeValues, AStaleTableCountsAsNone) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  NodeFabric table = rails(2);
  const NcclPolicy policy = policy_for("rdma/*");
  struct Row {
    std::optional<Timestamp> of;
    NodeContext context;
    bool counts;
    std::optional<Timestamp> valid_until;
  };
  for (const Row& row : {
           Row{kNow - hours(3), {kNow}, true, kNow + seconds(1)},
           Row{kNow - hours(3), {kNow + seconds(1)}, false, std::nullopt},
           Row{kNow + minutes(5), {kNow}, true, kNow + hours(3) + minutes(5) + seconds(1)},  // clocks differ
           Row{kNow + minutes(5) + seconds(1), {kNow}, false, kNow + seconds(1)},  // and then it counts
           // Ages do not count while the store is out of sync, nor of a table that was imported by hand.
           Row{kNow - hours(3), {kNow + hours(9), hours(3), false}, true, std::nullopt},
           Row{std::nullopt, {kNow + hours(9999)}, true, std::nullopt},
       }) {
    table.time = row.of;
    const NodeValues found = values(policy, &table, Exposure::Host, row.context);
    EXPECT_EQ(found.set.size(), row.counts ? 2u : 0u);
    EXPECT_EQ(reason_of(found, "NCCL_IB_HCA"), row.counts ? "" : "StaleTable");
    EXPECT_EQ(found.valid_until, row.valid_until);
  }
}

// The node's own clock is three hours behind, a day ahead; or its agent has been away since it wrote that.
TEST(NodeValues, ATablesAgeIsThatOfTheServersClock) {
  using std::chrono::hours;
  NodeFabric table = rails(2);
  for (const auto& [time, written, counts] :
       {std::tuple(kNow - hours(4), kNow, true), std::tuple(kNow + hours(24), kNow - hours(3), true),
        std::tuple(kNow + hours(24), kNow - hours(4), false), std::tuple(kNow, kNow - hours(4), false),
        std::tuple(kNow, kNow + hours(1), false)}) {
    table.time = time;
    table.written = written;
    EXPECT_EQ(reason_of(values(policy_for("rdma/*"), &table, Exposure::Host, {kNow}), "NCCL_IB_HCA"),
              counts ? "" : "StaleTable");
  }
}

TEST(NodeValues, ATableOfAnotherBootCountsAsNone) {
  const NodeFabric table = rails(2);
  NodeContext context{kNow};
  context.other_boot = true;
  for (const bool in_sync : {true, false}) {
    context.in_sync = in_sync;
    for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
      const NodeValues found = values(policy_for("rdma/*"), &table, exposure, context);
      EXPECT_THAT(found.set, IsEmpty());
      ASSERT_TRUE(found.deny);
      EXPECT_EQ(found.deny->reason, Reason::StaleTable);
      EXPECT_THAT(found.deny->detail, HasSubstr("of another boot"));
    }
  }
  EXPECT_EQ(reason_of(values(policy_for("rdma/*"), nullptr, Exposure::Host, context), "NCCL_IB_HCA"),
            "NoTable");
}

TEST(NodeValues, OfThePortsThatThePolicyExpectsThoseThatServeAreGivenUnlessItDenies) {
  NcclPolicy policy = policy_for("rdma/*");
  policy.fabric.hcas = {"mlx5_*"};
  policy.fabric.expect_ports = 4;
  NodeFabric table = rails(4);
  table.ports[3].state = PortState::Down;
  const NodeValues few = values(policy, &table);
  EXPECT_EQ(few.set.at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2,mlx5_3");
  EXPECT_EQ(few.set.at("NCCL_IB_GID_INDEX"), "3");
  EXPECT_THAT(few.notes, ElementsAre(HasSubstr("3 fabric ports, the policy expects 4; down: mlx5_4")));
  EXPECT_EQ(few.short_list.value().reason, Reason::TooFewPorts) << "for record, log and metric";
  EXPECT_EQ(few.omission("NCCL_IB_HCA"), nullptr) << "it is given";
  EXPECT_FALSE(values(policy_for("rdma/*"), &table).short_list) << "nothing is expected";
  policy.on_unresolved = OnUnresolved::Deny;
  EXPECT_EQ(reason_of(values(policy, &table), "NCCL_IB_HCA"), "TooFewPorts");
  policy.on_unresolved = OnUnresolved::Allow;
  table.ports.pop_back();
  EXPECT_EQ(reason_of(values(policy, &table), "NCCL_IB_HCA"), "TooFewPorts") << "a card is missing";
}

TEST(NodeValues, WhereNoIndexIsPinnedNothingIsWritten) {
  const NodeFabric table = rails(2);
  NodeFabric infiniband;
  infiniband.ports = {ib_port("mlx5_0")};
  NcclPolicy policy = policy_for("rdma/*");
  policy.gid_index.kind = GidIndexRule::Kind::Auto;
  for (const auto& [version, index, reason] : {std::tuple(NcclVersion{2, 20, 5}, "3", ""),
                                               std::tuple(NcclVersion{2, 21, 5}, "", "OmittedByPolicy")}) {
    policy.min_nccl = version;
    EXPECT_FALSE(values(policy, nullptr).set.contains("NCCL_IB_GID_INDEX"));
    EXPECT_EQ(reason_of(values(policy, nullptr), "NCCL_IB_GID_INDEX"), "NoTable");
    EXPECT_FALSE(values(policy, &infiniband).set.contains("NCCL_IB_GID_INDEX"));
    EXPECT_EQ(values(policy, &table).set["NCCL_IB_GID_INDEX"], index);
    EXPECT_EQ(reason_of(values(policy, &table), "NCCL_IB_GID_INDEX"), reason);
  }
}

TEST(NodeValues, AnUnstableIndexIsDecidedAnewWhenItsDayIsOver) {
  NodeFabric table = rails(2);
  table.ports[0].gids->back().index_since = kNow - std::chrono::hours(1);
  const NodeValues moved = values(policy_for("rdma/*"), &table);
  EXPECT_EQ(reason_of(moved, "NCCL_IB_GID_INDEX"), "GidUnstable");
  EXPECT_EQ(moved.set.at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2");
  EXPECT_FALSE(moved.deny);
  EXPECT_EQ(moved.valid_until, kNow + std::chrono::hours(23));
}

TEST(NodeValues, APartitionIsItsIndexInBothExposures) {
  NodeFabric table;
  table.name = "node-a";
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    table.ports.push_back(ib_port(name));
    table.ports.back().pkeys = std::vector<PartitionKey>{{0, 0xffff}, {2, 0x8001}};
  }
  NcclPolicy policy = policy_for("rdma/*");
  EXPECT_FALSE(values(policy, &table).set.contains("NCCL_IB_PKEY"));
  policy.partition_key = 0x8001;
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface})
    EXPECT_EQ(values(policy, &table, exposure).set.at("NCCL_IB_PKEY"), "2");
  EXPECT_EQ(reason_of(values(policy, nullptr), "NCCL_IB_PKEY"), "NoTable");
  table.ports[1].pkeys->back().index = 3;
  const NodeValues apart = values(policy, &table);
  EXPECT_EQ(reason_of(apart, "NCCL_IB_PKEY"), "PKeyNotUniform");
  EXPECT_TRUE(apart.set.contains("NCCL_IB_HCA"));
  EXPECT_FALSE(apart.deny);
  table.ports[1].state = PortState::Down;
  EXPECT_EQ(values(policy, &table).set.at("NCCL_IB_PKEY"), "2") << "the ports that are listed count";
  policy.fabric.link_layer = LinkLayer::Ethernet;
  EXPECT_FALSE(values(policy, &table).set.contains("NCCL_IB_PKEY"));
}

TEST(NodeValues, ExclusiveNodesOfferNothingToSubInterfacePods) {
  NodeFabric table = rails(2);
  table.rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  const NcclPolicy policy = policy_for("rdma/*");
  EXPECT_EQ(reason_of(values(policy, &table, Exposure::SubInterface), "NCCL_IB_HCA"), "PodOwnsDevices");
  EXPECT_EQ(values(policy, &table).set.at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2");
}

TEST(NodeValues, SocketInterfaceFromTheNode) {
  NodeFabric table = rails(2);
  NcclPolicy policy = policy_for("rdma/*");
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  EXPECT_EQ(reason_of(values(policy, &table), "NCCL_SOCKET_IFNAME"), "NodeInterfaceUnknown");
  table.node_interface = "bond0";
  EXPECT_EQ(values(policy, &table).set.at("NCCL_SOCKET_IFNAME"), "=bond0");
  EXPECT_FALSE(values(policy, &table, Exposure::SubInterface).set.contains("NCCL_SOCKET_IFNAME"));
  // A literal must be up where interfaces are known.
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  for (const auto& [name, up] :
       {std::pair("eth1", true), std::pair("eth0", false), std::pair("eth0", true)}) {
    table.interfaces = {{interface(name, "10.0.0.1", 24, up)}};
    const bool there = up && name == policy.socket_interface.literal;
    EXPECT_EQ(reason_of(values(policy, &table), "NCCL_SOCKET_IFNAME"), there ? "" : "InterfaceAbsent");
    EXPECT_EQ(values(policy, &table).set["NCCL_SOCKET_IFNAME"], there ? "eth0" : "");
  }
}

TEST(NodeValues, IPv6OnlyRailsBesideAnIPv4ManagementNic) {
  NodeFabric table = rails(2);
  for (Port& port : table.ports) {
    port.gids = std::vector<GidRow>{row(1, gid("fe80::1"), GidType::RoCEv2, "eth1"),
                                    row(5, gid("fd00::" + port.hca.substr(5)), GidType::RoCEv2, "eth1")};
  }
  table.ports.insert(table.ports.begin(), roce_port("mlx5_0", "eth0", "10.0.0.4"));
  table.node_interface = "eth0";
  EXPECT_THAT(values(policy_for("rdma/*"), &table).set,
              UnorderedElementsAre(Pair("NCCL_IB_HCA", "=mlx5_1,mlx5_2"), Pair("NCCL_IB_GID_INDEX", "5"),
                                   Pair("NCCL_IB_ADDR_FAMILY", "AF_INET6")));
}

TEST(NodeValues, AnHcaListOfThePolicyDecidesWhichRowsCount) {
  NodeFabric table = rails(2);
  table.ports[1].gids = std::vector<GidRow>{row(1, v4("10.0.0.2"), GidType::RoCEv2, "eth2")};
  NcclPolicy policy = policy_for("rdma/*");
  EXPECT_FALSE(values(policy, &table).deny) << "for a reason of the closed list alone";
  policy.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  EXPECT_THAT(values(policy, &table).set, UnorderedElementsAre(Pair("NCCL_IB_GID_INDEX", "3")));
  policy.hca = {HcaRule::Kind::Omit, ""};
  EXPECT_EQ(reason_of(values(policy, &table), "NCCL_IB_GID_INDEX"), "GidNotUniform");
  table.ports.clear();
  EXPECT_EQ(values(policy_for("rdma/*"), &table).deny->reason, Reason::NoFabricPort);
}

TEST(Binding, WritesTheValuesOfBothExposures) {
  const NodeFabric table = rails(2);
  const BindingPlan plan = binding_of(policy_for("rdma/*"), &table);
  EXPECT_THAT(
      plan.annotations,
      UnorderedElementsAre(
          Pair("hostnetwork.nccl-env.io/nccl.conf",
               "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n#NCCL_IB_HCA\n"),
          Pair("hostnetwork.nccl-env.io/noindex-nccl.conf", "NCCL_IB_HCA==mlx5_1,mlx5_2\n#NCCL_IB_HCA\n"),
          Pair("subinterface.nccl-env.io/nccl.conf", "NCCL_IB_HCA==mlx5_1,mlx5_2\n#NCCL_IB_HCA\n"),
          Pair("nccl-env.io/node", R"({"v":1,"node":"node-a","policy":"p","generation":1})")));
  NodeFabric ipv6 = rails(1);
  ipv6.ports[0].gids = std::vector<GidRow>{row(5, gid("fd00:1::1"), GidType::RoCEv2, "eth1")};
  EXPECT_EQ(
      binding_of(policy_for("rdma/*"), &ipv6).annotations.at("hostnetwork.nccl-env.io/noindex-nccl.conf"),
      "NCCL_IB_ADDR_FAMILY=AF_INET6\nNCCL_IB_HCA==mlx5_1\n#NCCL_IB_HCA\n");
}

TEST(Binding, StaysUnderEightKiB) {
  NodeFabric table = rails(0);
  for (int i = 0; i < 32; ++i) {
    const std::string name = std::string(20, 'x') + "_" + std::to_string(i);
    table.ports.push_back(ib_port(name));
  }
  const BindingPlan plan = binding_of(policy_for("rdma/*"), &table);
  std::size_t bytes = 0;
  for (const auto& [key, value] : plan.annotations) bytes += key.size() + value.size();
  EXPECT_GT(bytes, 2000u);
  EXPECT_LT(bytes, 8u << 10);
}

TEST(Binding, PatchFormsForAbsentAndPresentAnnotations) {
  const NodeFabric table = rails(1);
  const BindingPlan plan = binding_of(policy_for("rdma/*"), &table);
  const Json others = {{"a/b~c", "d"},
                       {"hostnetwork.nccl-env.io/nccl.conf", "NCCL_IB_HCA==old\n"},
                       {"host.nccl-env.io/nccl.conf", "NCCL_IB_HCA==older\n"}};
  for (const Json& metadata : {Json::object(), Json{{"annotations", nullptr}},
                               Json{{"annotations", Json::object()}}, Json{{"annotations", others}}}) {
    Json review = Json::parse(
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
        "namespace":"ml","resource":{"group":"","version":"v1","resource":"pods"},"subResource":"binding"}})");
    review["request"]["object"] = {{"metadata", metadata}, {"target", {{"name", "node-a"}}}};
    ReviewParser parser;
    const std::string text = review.dump();
    const auto parsed = parser.parse_review(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Json after =
        review["request"]["object"].patch(Json::parse(render_binding_patch(parsed->binding, plan).text));
    const Json& annotations = after["metadata"]["annotations"];
    EXPECT_EQ(annotations["hostnetwork.nccl-env.io/nccl.conf"],
              "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\n#NCCL_IB_HCA\n");
    EXPECT_FALSE(annotations.contains("host.nccl-env.io/nccl.conf")) << "no pod of the policy reads it";
    EXPECT_EQ(annotations.size(), plan.annotations.size() + annotations.contains("a/b~c"));
  }
}

}  // namespace
}  // namespace nccl_env::tests::node_values_test
