// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/temporary_directory.h"

namespace nccl_env::file_test {
namespace {

TEST(WriteFile, TakesThePlaceOfFilesAlone) {
  const tests::TemporaryDirectory folder;
  const auto pipe = folder.path() / "pipe", file = folder.path() / "file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Status refused = write_file(pipe, "x", 0644);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(write_file(folder.path(), "x", 0644)) << "a folder";
  EXPECT_TRUE(write_file(file, "x", 0644));
  EXPECT_TRUE(write_file(file, "y", 0644)) << "anew";
}

}  // namespace
}  // namespace nccl_env::file_test
