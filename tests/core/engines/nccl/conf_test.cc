// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/conf.h"

#include <gmock/gmock.h>

namespace nccl_env::conf_test {
namespace {

TEST(Conf, LinesThatEveryNcclReadsAlike) {
  EXPECT_EQ(*render_conf({{"NCCL_IB_HCA", "=mlx5_1,mlx5_2"}, {"NCCL_IB_GID_INDEX", "3"}}),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n");
  EXPECT_EQ(*render_conf({}), "");
}

TEST(Conf, WhatWouldBecomeAnotherLineIsRefused) {
  EXPECT_THAT(render_conf({{"NCCL_X", "1\nNCCL_Y=2"}}).error().message, ::testing::HasSubstr("NCCL_X"));
  for (const char* value : {"1\r", "a\tb", " 1", "1 ", "\x7f"})
    EXPECT_FALSE(render_conf({{"NCCL_X", value}})) << value;
  for (const char* name : {"", "NCCL X", "NCCL=X", "#NCCL_X", "NCCL\n"})
    EXPECT_FALSE(render_conf({{name, "1"}})) << name;
}

TEST(Conf, NotesAreNoLinesOfNccls) {
  const ConfValues notes{{"NCCL_IB_HCA", ""}, {"NCCL_X", std::string(3000, 'x') + "="}, {"NVSHMEM_Y", "=e"}};
  const std::string text = *render_conf({{"NCCL_IB_HCA", "=mlx5_1"}}, notes);
  EXPECT_TRUE(text.starts_with("NCCL_IB_HCA==mlx5_1\n#NCCL_IB_HCA\n#NCCL_X xxx")) << text;
  for (std::size_t from = 0, end; (end = text.find('\n', from)) != text.npos; from = end + 1)
    EXPECT_LE(end - from, 1023U) << "or it overruns a buffer of NCCL 2.22";
  const ConfText read = read_conf(text);
  EXPECT_TRUE(read.is_ours);
  EXPECT_EQ(read.values, (ConfValues{{"NCCL_IB_HCA", "=mlx5_1"}}));
  EXPECT_EQ(read.notes, notes);
}

TEST(Conf, AnyTextIsReadAsNcclDoes) {
  const ConfText read = read_conf("# a comment\nA=1\nA=2\n B = 3=\nno line\n\n#C=1\n#lower x\nD=");
  EXPECT_EQ(read.values, (ConfValues{{"A", "1"}, {" B ", " 3="}, {"D", ""}}));
  EXPECT_EQ(read.notes, (ConfValues{{"lower", "x"}}));
  EXPECT_FALSE(read.is_ours);
  EXPECT_TRUE(read_conf("").is_ours);
}

TEST(Conf, NcclCutsAt1023Bytes) {
  EXPECT_TRUE(render_conf({{"NCCL_X", std::string(1023, 'x')}}));
  EXPECT_FALSE(render_conf({{"NCCL_X", std::string(1024, 'x')}}));
  EXPECT_FALSE(render_conf({{std::string(1024, 'X'), "1"}}));
}

}  // namespace
}  // namespace nccl_env::conf_test
