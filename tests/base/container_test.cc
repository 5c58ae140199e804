// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/container.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_directory.h"

namespace nccl_env::container_test {
namespace {

class ContainerTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }

  const tests::TemporaryDirectory directory;
  const std::filesystem::path root = directory.path();
};

TEST_F(ContainerTest, TheSmallestLimitOfAGroupAndThoseAboveItCounts) {
  EXPECT_EQ(container_limits(root).memory, std::nullopt) << "nothing to read is no limit";
  EXPECT_EQ(container_limits(root).cpus, std::nullopt);
  write("proc/self/cgroup", "0::/pods/one\n");
  write("sys/fs/cgroup/pods/one/memory.max", "max\n");
  write("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/pods/memory.max", "536870912\n");
  write("sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(container_limits(root).memory, 512u << 20);
  EXPECT_EQ(container_limits(root).cpus, 1.5);
  for (const char* group : {"pods/one/", "pods/", ""}) {
    write(std::string("sys/fs/cgroup/") + group + "memory.max", "12 apples of 3 MiB\n");
    write(std::string("sys/fs/cgroup/") + group + "cpu.max", "1x 0\n");
  }
  write("proc/self/cgroup", "no colons\n0::/pods/one\n");
  EXPECT_EQ(container_limits(root).memory, std::nullopt) << "what is not a number is no limit";
  EXPECT_EQ(container_limits(root).cpus, std::nullopt);
}

TEST_F(ContainerTest, AGroupOfTheHostThatTheContainerDoesNotSeeIsItsTopFolder) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/kubepods/pod1\n4:memory:/kubepods/pod1\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(container_limits(root).memory, 256u << 20);
  EXPECT_EQ(container_limits(root).cpus, std::nullopt);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(container_limits(root).memory, std::nullopt) << "version one writes no limit as a huge one";
}

TEST(DefaultThreads, AreAtMostEightHoweverManyCpusThereAre) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), 8);
}

}  // namespace
}  // namespace nccl_env::container_test
