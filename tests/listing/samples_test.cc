// SPDX-License-Identifier: Apache-2.0
// The recorded listings of tests/data/tables: what each one tells.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "listing/import_fixture.h"
#include "support/places.h"

namespace nccl_env::samples_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const std::filesystem::path kTables = std::filesystem::path(tests::in_source("/tests/data/tables"));

std::string read_sample(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

NodeFabric sample(const std::string& name) {
  NodeFabric table = table_of(read_sample(kTables / (name + ".txt")));
  EXPECT_EQ(round_trip(table), "");
  return table;
}

// "mlx5_1/1 Active Ethernet RoCE eth1", '-' for what is absent.
std::vector<std::string> ports_of(const NodeFabric& table) {
  std::vector<std::string> ports;
  for (const Port& port : table.ports) {
    ports.push_back(port.hca + "/" + std::to_string(port.number) + " " +
                    (port.state ? std::string(to_string(*port.state)) : "-") + " " +
                    (port.link_layer ? std::string(to_string(*port.link_layer)) : "-") + " " +
                    (port.transport ? std::string(to_string(*port.transport)) : "-") + " " +
                    port.netdev.value_or("-"));
  }
  return ports;
}

TEST(Samples, BaiduRoce) {
  const auto table = sample("baidu-roce-a100.show_gids");
  std::vector<std::string> expected;
  for (const char i : std::string("012345678")) {
    expected.push_back(std::string("mlx5_") + i + "/1 - Ethernet RoCE eth" + i);
  }
  EXPECT_EQ(ports_of(table), expected);
  EXPECT_THAT(
      rows_of(table.ports.at(1)),
      ElementsAre("0 fe80::eaeb:d3ff:fecc:c920 RoCEv1 - eth1", "1 fe80::eaeb:d3ff:fecc:c920 RoCEv2 - eth1",
                  "2 25.11.128.2 RoCEv1 25.11.128.2 eth1", "3 25.11.128.2 RoCEv2 25.11.128.2 eth1"));
}

TEST(Samples, AlibabaErdma) {
  EXPECT_THAT(ports_of(sample("alibaba-erdma.ibv_devinfo")),
              ElementsAre("rocep156s0/1 Down Ethernet eRDMA -", "rocep26s0/1 Active Ethernet eRDMA -"));
}

TEST(Samples, AzureInfiniband) {
  const auto table = sample("azure-ib-h200.ibv_devinfo");
  const auto ports = ports_of(table);
  ASSERT_THAT(ports, SizeIs(9));
  EXPECT_EQ(ports[0], "mlx5_ib0/1 Active InfiniBand InfiniBand -");
  EXPECT_EQ(table.ports[0].board_id, "MSF0000000047");
  EXPECT_EQ(table.ports[0].sys_image_guid, "0427:2803:0126:770c");
  EXPECT_EQ(std::count_if(table.ports.begin(), table.ports.end(),
                          [](const Port& port) { return port.link_layer == LinkLayer::InfiniBand; }),
            8);
  const auto an0 = std::find_if(table.ports.begin(), table.ports.end(),
                                [](const Port& port) { return port.hca == "mlx5_an0"; });
  ASSERT_NE(an0, table.ports.end());
  EXPECT_EQ(an0->transport, Transport::RoCE);
  EXPECT_EQ(an0->sys_image_guid, std::nullopt);
}

TEST(Samples, IrdmaVerbose) {
  const auto table = sample("irdma.ibv_devinfo-v");
  EXPECT_THAT(ports_of(table), ElementsAre("irdma1/1 Active Ethernet RoCE -"));
  const Port& port = table.ports.at(0);
  EXPECT_EQ(port.rate_gbps, 100);
  EXPECT_EQ(port.active_mtu, 1024);
  EXPECT_EQ(port.gid_table_length, 32);
  EXPECT_THAT(rows_of(port), ElementsAre("0 fe80::6efe:54ff:fe3d:8a39 RoCEv2 - -",
                                         "1 10.22.116.221 RoCEv2 10.22.116.221 -"));
}

// A line lost from the middle of any sample must not change what the others say: the import is refused, or
// the ports that it gives are the sample's with fewer facts.
TEST(Samples, ALostLineNeverGivesAnotherFact) {
  for (const auto& entry : std::filesystem::directory_iterator(kTables)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string text = read_sample(entry.path());
    const auto whole = import_text(text);
    if (!whole.report) continue;
    std::size_t end = 0;
    for (std::size_t start = 0; start < text.size(); start = end) {
      end = std::min(text.find('\n', start), text.size() - 1) + 1;
      const auto part = import_text(text.substr(0, start) + text.substr(end));
      if (!part.report) continue;
      for (const Port& port : part.report->table.ports) {
        const auto same = std::find_if(
            whole.report->table.ports.begin(), whole.report->table.ports.end(),
            [&](const Port& other) { return other.hca == port.hca && other.number == port.number; });
        ASSERT_NE(same, whole.report->table.ports.end())
            << entry.path() << " without " << text.substr(start, end - start);
        EXPECT_TRUE(!port.state || port.state == same->state);
        EXPECT_TRUE(!port.link_layer || port.link_layer == same->link_layer);
        EXPECT_TRUE(!port.sys_image_guid || port.sys_image_guid == same->sys_image_guid);
        for (const auto& row : rows_of(port)) {
          if (row != "unknown") {
            EXPECT_THAT(rows_of(*same), ::testing::Contains(row)) << entry.path();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nccl_env::samples_test
