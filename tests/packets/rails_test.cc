// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/rails.h"

#include "packets/test_run.h"
#include "support/matchers.h"

namespace nccl_env::tests::rails_test {
namespace {

class Rails : public ::testing::Test {
 protected:
  packets::OwnRails find(const NodeFabric& own) {
    return packets::find_rails({seen_, own, env_, version_}, fabric_.make_of("gpu-0"));
  }
  packets::OwnRails find() { return find(seen_); }
  ProofRail first() { return find().rails.at(0).told; }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& rail : find().rails) names.push_back(name_of(rail.told));
    return names;
  }

  NodeFabric seen_ = table_of(0, 3);
  NcclEnv env_;
  NcclVersion version_ = kNewestNccl;
  FakeFabric fabric_;
};

TEST_F(Rails, TheyAreThePortsAndRowsThatNcclTakes) {
  env_ = {{"NCCL_IB_HCA", "=mlx5_2,mlx5_0"}};
  EXPECT_THAT(names(), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  EXPECT_EQ(first().gid_index, 3);
  EXPECT_EQ(first().network, "10.0.0.0/16");
  EXPECT_EQ(first().mtu, 4096);
  EXPECT_FALSE(first().step);
  EXPECT_EQ(fabric_.queue_pairs(), 0u) << "those of the trial are gone";
}

TEST_F(Rails, WithoutVerbsOfNcclThereAreNone) {
  env_ = {{"NCCL_IB_DISABLE", "1"}};
  const auto found = find();
  EXPECT_THAT(found.rails, IsEmpty());
  EXPECT_FALSE(found.notes.empty());
}

TEST_F(Rails, APortThatIsDownIsThereIfItIsNamedOrHasANetwork) {
  seen_.ports[1].state = PortState::Down;
  fabric_.broken["gpu-0/mlx5_1"] = {ProofStep::Port, {}};
  EXPECT_THAT(names(), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
  EXPECT_EQ(find().rails.at(1).told.step, ProofStep::Port);
  seen_.ports[1].gids.emplace();
  EXPECT_THAT(names(), ElementsAre("mlx5_0:1", "mlx5_2:1"));
  env_ = {{"NCCL_IB_HCA", "^mlx5_0"}};
  EXPECT_THAT(names(), ElementsAre("mlx5_2:1"));
  env_ = {{"NCCL_IB_HCA", "mlx5"}};
  EXPECT_THAT(names(), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2:1"));
}

TEST_F(Rails, AnEmptyRowFails) {
  env_ = {{"NCCL_IB_GID_INDEX", "9"}};
  EXPECT_EQ(first().step, ProofStep::Row);
  EXPECT_EQ(first().error, ENODATA);
  EXPECT_EQ(first().gid_index, 9);
  EXPECT_FALSE(first().gid);
}

TEST_F(Rails, ALinkLocalRowFails) {
  env_ = {{"NCCL_IB_GID_INDEX", "1"}};
  EXPECT_EQ(first().step, ProofStep::Row);
  EXPECT_TRUE(first().gid && first().gid->is_link_local());
}

TEST_F(Rails, EachStepWithoutAPeerIsTold) {
  for (const auto step : {ProofStep::Open, ProofStep::Port, ProofStep::Memory, ProofStep::Queue}) {
    fabric_.broken["gpu-0/mlx5_0"] = {step, EPERM};
    EXPECT_EQ(first().step, step);
    EXPECT_EQ(first().error, EPERM);
  }
}

// NCCL knows nothing of namespaces: it takes another pod's row if that is the one that its search finds.
TEST_F(Rails, ARowOfAnotherNamespaceIsTakenButHasNoNetwork) {
  NodeFabric own = seen_;
  own.ports[0].gids->pop_back();
  const auto found = find(own);
  EXPECT_EQ(found.rails.at(0).told.gid_index, 3);
  EXPECT_FALSE(found.rails.at(0).told.network);
  EXPECT_EQ(found.rails.at(1).told.network, "10.1.0.0/16");
}

TEST_F(Rails, InfiniBandHasASubnetPrefixAndAPartition) {
  seen_.ports.resize(1);
  Port& port = seen_.ports[0];
  port.link_layer = LinkLayer::InfiniBand;
  port.transport = Transport::InfiniBand;
  port.gids = {{GidRow{0, *parse_gid("fec0:0:0:7::1234"), GidType::IB, {}, {}}}};
  port.pkeys = {{PartitionKey{0, 0xffff}, PartitionKey{2, 0x8005}}};
  const packets::OwnRail rail = find().rails.at(0);
  EXPECT_FALSE(rail.told.step);
  EXPECT_FALSE(rail.told.gid_index);
  EXPECT_EQ(rail.told.network, "fec0:0:0:7::/64");
  EXPECT_EQ(rail.partition, 0);
  env_ = {{"NCCL_IB_PKEY_VALUE", "5"}};
  EXPECT_EQ(find().rails.at(0).partition, 2);
  env_ = {{"NCCL_IB_PKEY_VALUE", "6"}};
  EXPECT_EQ(find().rails.at(0).partition, -1);
  version_ = {2, 27, 0};
  env_ = {{"NCCL_IB_PKEY_VALUE", "5"}, {"NCCL_IB_PKEY", "1"}};
  EXPECT_EQ(find().rails.at(0).partition, 1);
}

TEST_F(Rails, PacketsHaveTrafficClassAndServiceLevel) {
  env_ = {{"NCCL_IB_TC", "106"}, {"NCCL_IB_SL", "3"}};
  const packets::OwnRail rail = find().rails.at(0);
  EXPECT_EQ(rail.traffic_class, 106);
  EXPECT_EQ(rail.service_level, 3);
  EXPECT_EQ(rail.told.gid_index, 3);
}

}  // namespace
}  // namespace nccl_env::tests::rails_test
