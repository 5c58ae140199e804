// SPDX-License-Identifier: Apache-2.0
// The recorded listings of tests/data/tables: what each one tells; and damaged, whatever a paste did to them:
// the import ends, and gives a table or problems.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "listing/import_fixture.h"
#include "support/places.h"

namespace nccl_env::samples_test {
namespace {

using namespace nccl_env::tests;

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
            EXPECT_THAT(rows_of(*same), Contains(row)) << entry.path();
          }
        }
      }
    }
  }
}

std::vector<std::string> read_samples() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kTables)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> samples;
  for (const auto& path : paths) samples.push_back(read_sample(path));
  return samples;
}

std::size_t below(std::mt19937& random, std::size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

void mutate(std::string& text, const std::vector<std::string>& samples, std::mt19937& random) {
  static constexpr char kLiteral[] = " \t\r\n:#=>'[](),./-0123456789abcdefxX\0\x1b\xc2\xa0\xff";
  static const std::string kBytes(kLiteral, sizeof(kLiteral) - 1);  // with the NUL in its middle
  const auto at = below(random, text.size());
  switch (random() % 6) {
    case 0:
      if (!text.empty()) text[at] = kBytes[below(random, kBytes.size())];
      break;
    case 1:
      text.erase(at, 1 + below(random, 40));
      break;
    case 2:
      text.insert(at, 1, kBytes[below(random, kBytes.size())]);
      break;
    case 3:
      text.resize(at);
      break;
    case 4: {
      const auto& other = samples[below(random, samples.size())];
      text.insert(at, other.substr(below(random, other.size()), below(random, 400)));
      break;
    }
    default:
      text.insert(at, text.substr(below(random, text.size() + 1), below(random, 200)));
  }
}

TEST(Mutations, NeverCrashAndEitherGiveATableOrProblems) {
  const auto samples = read_samples();
  ASSERT_FALSE(samples.empty());
  std::mt19937 random(20261121);  // a fixed seed: the same texts on every run
  int tables = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    std::string text = samples[below(random, samples.size())];
    for (auto left = 1 + below(random, 4); left > 0; --left) mutate(text, samples, random);
    const auto outcome = import_text(text);
    ASSERT_NE(outcome.report.has_value(), !outcome.findings.empty()) << text;
    for (const auto& problem : outcome.findings) ASSERT_FALSE(line_of(problem).empty());
    if (!outcome.report) continue;
    ++tables;
    ASSERT_FALSE(outcome.report->table.ports.empty());
    ASSERT_EQ(round_trip(outcome.report->table), "") << text;
  }
  EXPECT_GT(tables, 100) << "the mutations should leave some listings whole";
  EXPECT_LT(tables, kRuns - 100) << "the mutations should break some listings";
}

TEST(Mutations, TimeIsLinearInTheText) {
  const std::vector<std::string> lines = {"mlx5_1 1 3 ::ffff:10.0.0.1 v2 eth1\n", "mlx5_1 1 3 fe80:\n",
                                          "hca_id: mlx5_1\n", "GID[ 1]: x\n",
                                          "0000:0000:0000:0000:0000:0000:0000:000\n"};
  for (const auto& line : lines) {
    std::string text;
    while (text.size() + line.size() <= (std::size_t{1} << 20U)) text += line;
    const auto start = std::chrono::steady_clock::now();
    (void)import_text(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << line;
  }
}

}  // namespace
}  // namespace nccl_env::samples_test
