// SPDX-License-Identifier: Apache-2.0
// Real listings (tests/data/tables) as sysfs would show the same node: what is read from the tree is what the
// listing said.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "nccl_env/listing/import.h"
#include "nccl_env/node/probe.h"
#include "node/sysfs_tree.h"
#include "support/places.h"

namespace nccl_env::node::samples_test {
namespace {

using tests::SysfsTree;

NodeFabric import(const std::string& name) {
  std::ifstream file(tests::in_source("/tests/data/tables/" + name));
  std::stringstream text;
  text << file.rdbuf();
  ImportOptions options;
  options.node = "n";
  ImportOutcome outcome = import_listing({name, text.str()}, options);
  EXPECT_TRUE(outcome.report) << name;
  return outcome.report ? std::move(outcome.report->table) : NodeFabric();
}

std::string state_text(PortState state) {
  switch (state) {
    case PortState::Down:
      return "1: DOWN";
    case PortState::Init:
      return "2: INIT";
    case PortState::Armed:
      return "3: ARMED";
    case PortState::Active:
      return "4: ACTIVE";
  }
  return "";
}

// The tree that a kernel would show for this table.
SysfsTree tree_of(const NodeFabric& table) {
  SysfsTree tree;
  int bus = 0x10;
  for (const Port& port : table.ports) {
    tests::TreeHca hca{.name = port.hca};
    hca.pci = "0000:" + std::to_string(bus++) + ":00.0";
    hca.link_layer = port.link_layer == LinkLayer::InfiniBand ? "InfiniBand" : "Ethernet";
    hca.state = state_text(port.state.value_or(PortState::Active));
    hca.driver = port.transport == Transport::eRDMA ? "erdma" : "mlx5_core";
    hca.node_type = port.transport == Transport::eRDMA ? "4: RNIC" : "1: CA";
    hca.board_id = port.board_id.value_or("");
    hca.netdev = port.netdev.value_or("");
    hca.table_length = port.gid_table_length.value_or(16);
    for (const GidRow& row : port.gids.value_or(std::vector<GidRow>{}))
      hca.rows.push_back({row.index, format_gid(row.gid),
                          row.type == GidType::RoCEv2 ? "RoCE v2" : "IB/RoCE v1",
                          row.netdev.value_or(hca.netdev.empty() ? "eth0" : hca.netdev)});
    tests::add_hca(tree, hca);
  }
  return tree;
}

const Port& port_of(const NodeFabric& table, const Port& wanted) {
  for (const Port& port : table.ports) {
    if (port.hca == wanted.hca && port.number == wanted.number) return port;
  }
  ADD_FAILURE() << wanted.hca << " is missing";
  return wanted;
}

template <class T>
void same_if_known(const std::optional<T>& found, const std::optional<T>& expected) {
  if (expected) {
    EXPECT_EQ(found, expected);
  }
}

class Samples : public ::testing::TestWithParam<const char*> {};

TEST_P(Samples, AreReadAsTheListingSays) {
  const NodeFabric listed = import(GetParam());
  ASSERT_FALSE(listed.ports.empty());
  const SysfsTree tree = tree_of(listed);
  ProbeOptions options;
  options.sysfs = &tree;
  options.captured = true;
  const ProbeResult read = probe(options);
  EXPECT_THAT(read.problems, ::testing::IsEmpty());
  ASSERT_EQ(read.table.ports.size(), listed.ports.size());
  for (const Port& expected : listed.ports) {
    SCOPED_TRACE(expected.hca);
    const Port& found = port_of(read.table, expected);
    same_if_known(found.state, expected.state);
    same_if_known(found.link_layer, expected.link_layer);
    same_if_known(found.transport, expected.transport);
    same_if_known(found.board_id, expected.board_id);
    same_if_known(found.netdev, expected.netdev);
    if (!expected.gids) continue;
    ASSERT_EQ(found.gids->size(), expected.gids->size());
    for (std::size_t i = 0; i < expected.gids->size(); ++i) {
      const GidRow& row = (*expected.gids)[i];
      EXPECT_EQ((*found.gids)[i].index, row.index);
      EXPECT_EQ((*found.gids)[i].gid, row.gid);
      same_if_known((*found.gids)[i].type, row.type);
      same_if_known((*found.gids)[i].netdev, row.netdev);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Samples,
                         ::testing::Values("baidu-roce-a100.show_gids.txt", "alibaba-erdma.ibv_devinfo.txt",
                                           "azure-ib-h200.ibv_devinfo.txt", "two-vendors.show_gids.txt",
                                           "macvlan-pod.show_gids.txt", "oci-ionic.rdma_link.txt",
                                           "mi300x-bond.rdma_link.txt", "spark-node-a.ibv_devinfo.txt",
                                           "spark-node-b.ibv_devinfo.txt", "irdma.ibv_devinfo-v.txt"));

}  // namespace
}  // namespace nccl_env::node::samples_test
