// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/sysfs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "nccl_env/node/probe.h"
#include "node/sysfs_tree.h"
#include "support/temporary_directory.h"

namespace nccl_env::node::sysfs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SysfsOnDisk : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content;
  }

  const tests::TemporaryDirectory directory_;
  const std::filesystem::path root_ = directory_.path();
  const std::unique_ptr<Sysfs> sysfs_ = open_sysfs(root_);
};

TEST_F(SysfsOnDisk, AttributesComeWithoutTheirEndAndAHugeOneIsCutAtAPage) {
  write("a/state", "4: ACTIVE\n");
  EXPECT_EQ(*sysfs_->read("a/state"), "4: ACTIVE");
  write("a/empty", "\n");
  EXPECT_EQ(*sysfs_->read("a/empty"), "");
  write("a/huge", std::string(1 << 20, 'x'));
  EXPECT_EQ(sysfs_->read("a/huge")->size(), 4096u);
}

TEST_F(SysfsOnDisk, WhatIsNoAttributeIsAnErrorAtOnce) {
  EXPECT_THAT(sysfs_->read("absent").error().message, HasSubstr("absent: No such file"));
  write("dir/x", "");
  EXPECT_FALSE(sysfs_->read("dir"));
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(sysfs_->read("fifo").error().message, HasSubstr("not a regular file"));
  EXPECT_FALSE(sysfs_->list("absent"));
  EXPECT_FALSE(sysfs_->resolve("absent"));
}

TEST_F(SysfsOnDisk, ListsAreSortedAndWithoutHiddenNames) {
  for (const char* name : {"d/10", "d/9", "d/.x"}) write(name, "");
  EXPECT_THAT(*sysfs_->list("d"), ElementsAre("10", "9"));
}

TEST_F(SysfsOnDisk, LinksThatLeadOutAreRefused) {
  std::filesystem::create_symlink("/", root_ / "out");
  EXPECT_THAT(sysfs_->resolve("out").error().message, HasSubstr("leads out of"));
  EXPECT_THAT(sysfs_->list("out").error().message, HasSubstr("leads out of"));
  EXPECT_THAT(sysfs_->read("out/etc/hostname").error().message, HasSubstr("leads out of"));
  // A copy of another machine said that this one's file was the HCA's board.
  write("../" + root_.filename().string() + "-secret", "token");
  std::filesystem::create_symlink("../" + root_.filename().string() + "-secret", root_ / "board_id");
  EXPECT_THAT(sysfs_->read("board_id").error().message, HasSubstr("board_id: leads out of"));
  std::filesystem::remove(root_.parent_path() / (root_.filename().string() + "-secret"));
  EXPECT_THAT(sysfs_->read("../x").error().message, HasSubstr("leads out of"));
  std::filesystem::create_symlink("loop", root_ / "loop");
  EXPECT_FALSE(sysfs_->resolve("loop"));
}

TEST_F(SysfsOnDisk, TheTreeOfTheTestsIsTheSameOnDisk) {
  tests::SysfsTree tree;
  tests::add_hca(tree,
                 {.name = "mlx5_1", .netdev = "eth1", .rows = tests::usual_tree_rows("25.11.128.2", "eth1")});
  tree.write_to(root_);
  EXPECT_EQ(*sysfs_->resolve("class/infiniband/mlx5_1/device"), "devices/pci0000:50/0000:53:00.0");
  ProbeOptions on_disk, in_memory;
  on_disk.sysfs = sysfs_.get();
  in_memory.sysfs = &tree;
  on_disk.captured = in_memory.captured = true;
  const ProbeResult expected = probe(in_memory);
  const ProbeResult found = probe(on_disk);
  EXPECT_EQ(to_json(found.table), to_json(expected.table));
  EXPECT_EQ(found.problems, expected.problems);
  EXPECT_EQ(found.table.ports.at(0).driver, "mlx5_core");
  EXPECT_EQ(found.table.interfaces->at(0).name, "eth1");
}

// On the machine that runs the tests, whatever it has.
TEST(SysfsOfTheKernel, CanBeReadWithoutPrivilege) {
  const auto sysfs = open_sysfs("/sys");
  EXPECT_THAT(*sysfs->list("class/net"), ::testing::Contains("lo"));
  EXPECT_EQ(*sysfs->read("class/net/lo/ifindex"), "1");
}

}  // namespace
}  // namespace nccl_env::node::sysfs_test
