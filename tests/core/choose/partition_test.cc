// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/partition.h"

#include <gmock/gmock.h>

namespace nccl_env::partition_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using Keys = std::vector<PartitionKey>;

class Partition : public ::testing::Test {
 protected:
  PartitionChoice choose(std::uint16_t key, const std::vector<std::optional<Keys>>& tables) {
    table_.ports.clear();
    for (const auto& keys : tables) {
      Port port;
      port.hca = "mlx5_" + std::to_string(table_.ports.size());
      port.link_layer = layer_;
      port.pkeys = keys;
      table_.ports.push_back(port);
    }
    std::vector<const Port*> ports;
    for (const Port& port : table_.ports) ports.push_back(&port);
    return choose_partition(table_, ports, key);
  }
  LinkLayer layer_ = LinkLayer::InfiniBand;

 private:
  NodeFabric table_;
};

TEST_F(Partition, IsTheIndexAtWhichEveryPortHasTheKey) {
  EXPECT_THAT(choose(0x8001, {Keys{{0, 0xffff}, {1, 0x8001}}, Keys{{0, 0xffff}, {1, 0x8001}}}).index,
              Optional(1));
  EXPECT_THAT(choose(0x8001, {Keys{{1, 0x8001}, {2, 0x8001}}, Keys{{2, 0x8001}}}).index, Optional(2));
  EXPECT_THAT(choose(0xffff, {Keys{{0, 0xffff}, {1, 0x8001}}}).index, Optional(0));
}

TEST_F(Partition, BitFifteenAsksForFullMembers) {
  const Keys both{{0, 0x0001}, {1, 0x8001}};
  EXPECT_THAT(choose(0x8001, {both}).index, Optional(1));
  EXPECT_THAT(choose(0x0001, {both}).index, Optional(1));  // full comes first
  EXPECT_THAT(choose(0x0001, {Keys{{3, 0x0001}}, Keys{{3, 0x8001}}}).index, Optional(3));
  const PartitionChoice limited = choose(0x8001, {Keys{{3, 0x0001}}});
  EXPECT_EQ(limited.index, std::nullopt);
  EXPECT_THAT(limited.detail, HasSubstr("mlx5_0 has it at 3 (limited)"));
}

TEST_F(Partition, OneIndexServesAllPortsOrThereIsNone) {
  const PartitionChoice other = choose(0x8001, {Keys{{1, 0x8001}}, Keys{{2, 0x8001}}, Keys{{0, 0xffff}}});
  EXPECT_EQ(other.reason, Reason::PKeyNotUniform);
  EXPECT_EQ(other.detail,
            "No index names 0x8001 on every port: mlx5_0 has it at 1, mlx5_1 has it at 2, mlx5_2 has it at "
            "none.");
  EXPECT_EQ(choose(0x8001, {Keys{}}).reason, Reason::PKeyNotUniform);
}

TEST_F(Partition, ATableThatIsNotKnownDecidesNothingAndEthernetHasNone) {
  const PartitionChoice unknown = choose(0x8001, {Keys{{1, 0x8001}}, std::nullopt});
  EXPECT_EQ(unknown.index, std::nullopt);
  EXPECT_EQ(unknown.reason, Reason::PKeyUnknown);
  EXPECT_THAT(unknown.detail, HasSubstr("mlx5_1 are not known"));
  layer_ = LinkLayer::Ethernet;
  EXPECT_EQ(choose(0x8001, {Keys{{1, 0x8001}}}).reason, Reason::OmittedByPolicy);
}

}  // namespace
}  // namespace nccl_env::partition_test
