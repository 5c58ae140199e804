// SPDX-License-Identifier: Apache-2.0
// Reads what a real kernel's sysfs held (tests/data/sysfs, captured by the lab), without that kernel.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "nccl_env/node/probe.h"
#include "node/sysfs_tree.h"
#include "support/places.h"

namespace nccl_env::node::captured_sysfs_test {
namespace {

using ::testing::IsEmpty;
using tests::SysfsTree;

// "link PATH TARGET", or "in FOLDER" and below it "NAME TEXT", "FIRST..LAST TEXT"; "!" is refused by the
// kernel.
void load(const std::string& name, SysfsTree& tree) {
  std::ifstream file(tests::in_source("/tests/data/sysfs/" + name));
  ASSERT_TRUE(file) << name;
  std::string folder;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    std::string rest;
    words >> first >> std::ws;
    std::getline(words, rest);
    if (first == "link") {
      const std::size_t blank = rest.find(' ');
      tree.link(rest.substr(0, blank), rest.substr(blank + 1));
    } else if (first == "in") {
      folder = rest + "/";
    } else if (line.starts_with("  ")) {
      const std::size_t dots = first.find("..");
      const bool range = dots != std::string::npos;
      const int from = range ? std::stoi(first.substr(0, dots)) : 0;
      const int to = range ? std::stoi(first.substr(dots + 2)) : 0;
      for (int i = from; i <= to; ++i) {
        const std::string path = folder + (range ? std::to_string(i) : first);
        tree.file(path, rest);
        if (rest == "!") tree.invalid.insert(path);
      }
    }
  }
}

TEST(CapturedSysfs, RoceRowsComeInPairsAndInfiniBandHasOne) {
  SysfsTree tree;
  load("soft-6.1.txt", tree);
  ProbeOptions options;
  options.sysfs = &tree;
  options.captured = true;
  const ProbeResult read = probe(options);
  EXPECT_THAT(read.problems, IsEmpty());
  ASSERT_EQ(read.table.ports.size(), 3U);

  const Port& ib = read.table.ports[0];
  EXPECT_EQ(ib.hca, "ib0");
  EXPECT_EQ(ib.transport, Transport::InfiniBand);
  EXPECT_EQ(ib.rate_gbps, 400);
  ASSERT_EQ(ib.gids.value_or(std::vector<GidRow>{}).size(), 1U);
  EXPECT_EQ(ib.gids->front().type, GidType::IB);

  const Port& roce = read.table.ports[1];
  EXPECT_EQ(roce.hca, "rxe0");
  EXPECT_EQ(roce.transport, Transport::RoCE);
  EXPECT_EQ(roce.gid_table_length, 255);
  EXPECT_EQ(roce.netdev, "eth0");
  ASSERT_EQ(roce.gids.value_or(std::vector<GidRow>{}).size(), 6U);
  for (const GidRow& row : *roce.gids)
    EXPECT_EQ(row.type, row.index % 2 == 0 ? GidType::RoCEv1 : GidType::RoCEv2) << row.index;
  EXPECT_EQ((*roce.gids)[3].address, *parse_ip("192.168.0.5"));
}

}  // namespace
}  // namespace nccl_env::node::captured_sysfs_test
