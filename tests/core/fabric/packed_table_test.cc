// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/packed_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "generate/example_table.h"

namespace nccl_env::packed_table_test {
namespace {

Gid gid_of(std::uint8_t last) {
  Gid gid;
  gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 25, 11, 128, last};
  return gid;
}

// Every field, absent and present, numbers at the ends of their range; names that repeat and names that
// don't.
NodeFabric full_table() {
  NodeFabric table = *parse_node_fabric(generate::example_table());
  table.node_labels = {NodeLabel{"topology.kubernetes.io/zone", "b"}, NodeLabel{"nvidia.com/gpu.product", {}},
                       NodeLabel{"x", ""}};
  Port port = table.ports[0];
  port.state_since = Timestamp(std::chrono::seconds(-1));
  port.rate_gbps = 2.5;
  port.pf_pci_address = "";
  port.gid_index_changes = kMaxIndexChanges;
  port.gids = {{3, gid_of(2), GidType::RoCEv2, gid_of(2).address(), "eth1", table.time},
               {4, gid_of(2), {}, {}, {}, {}},
               {65535, gid_of(3), GidType::IB, gid_of(4).address(), "bond0", {}}};
  port.gids_gone = port.gids;
  port.pkeys = {{0, 0xffff}, {127, 0x8001}};
  table.ports = {port, Port{}, Port{}};
  table.ports[1].gids.emplace();
  table.ports[1].rate_gbps = 0;
  table.ports[2].pkeys.emplace();
  table.ports[2].max_rate_gbps = 99'999.875;
  table.interfaces = {
      {"eth1", {{{gid_of(2).address(), 27}, {IpAddress{}, 0}}}, 4200, true, ""},
      {"bond0", {}, {}, {}, {}},
      {"eth2", std::vector<InterfaceAddress>(), std::numeric_limits<int>::max(), false, "bond0"}};
  return table;
}

TEST(PackedTable, KeepsEveryField) {
  const NodeFabric table = full_table();
  const PackedTable packed(table);
  EXPECT_EQ(packed.name(), "gpu-node-1");
  EXPECT_EQ(packed.dated(), table.time);
  EXPECT_EQ(packed.boot_id(), table.boot_id);
  EXPECT_EQ(to_json(packed.unpack()), to_json(table));
}

TEST(PackedTable, KeepsWhatIsNotKnown) {
  const PackedTable empty{NodeFabric()};
  EXPECT_EQ(empty.name(), "");
  EXPECT_FALSE(empty.dated());
  EXPECT_EQ(empty.boot_id(), "");
  NodeFabric written = full_table();
  written.written = *written.time + std::chrono::hours(3);
  written.boot_id = "gpu";  // its name holds it, too
  EXPECT_EQ(PackedTable(written).dated(), written.written);
  EXPECT_EQ(PackedTable(written).unpack().written, written.written);
  EXPECT_EQ(PackedTable(written).unpack().time, written.time);
  EXPECT_EQ(PackedTable(written).boot_id(), "gpu");
  EXPECT_EQ(to_json(empty.unpack()), to_json(NodeFabric()));
  const NodeFabric unpacked = PackedTable(full_table()).unpack();
  EXPECT_TRUE(unpacked.ports[1].gids && unpacked.ports[1].gids->empty());
  EXPECT_FALSE(unpacked.ports[1].pkeys);
  EXPECT_EQ(unpacked.interfaces->at(0).master, "");
  EXPECT_FALSE(unpacked.interfaces->at(1).addresses);
  EXPECT_FALSE(unpacked.interfaces->at(1).up);
}

// A replica's memory is bounded by it (webhook/memory_budget).
TEST(PackedTable, OfEightRailsTakesLessThanTwoKilobytes) {
  NodeFabric table = full_table();
  table.ports.clear();
  table.interfaces.emplace();
  for (std::uint8_t rail = 0; rail < 8; ++rail) {
    Port port = full_table().ports[0];
    port.hca = "mlx5_" + std::to_string(rail);
    port.netdev = "eth" + std::to_string(rail);
    port.pci_address = "0000:5" + std::to_string(rail) + ":00.0";
    port.sys_image_guid = "b83f:d203:00b4:f5a" + std::to_string(rail);
    port.gids.emplace();
    port.gids_gone.reset();
    for (std::uint8_t row = 0; row < 4; ++row) {
      const Gid gid = gid_of(static_cast<std::uint8_t>(16 * rail + row / 2));
      port.gids->push_back({row, gid, GidType::RoCEv2, gid.address(), port.netdev, {}});
    }
    table.ports.push_back(port);
    table.interfaces->push_back({*port.netdev, {{{gid_of(rail).address(), 27}}}, 4200, true, ""});
  }
  EXPECT_LT(PackedTable(table).bytes(), 2000U);
  EXPECT_EQ(to_json(PackedTable(table).unpack()), to_json(table));
}

}  // namespace
}  // namespace nccl_env::packed_table_test
