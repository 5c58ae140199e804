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

TEST(Conf, NcclCutsAt1023Bytes) {
  EXPECT_TRUE(render_conf({{"NCCL_X", std::string(1023, 'x')}}));
  EXPECT_FALSE(render_conf({{"NCCL_X", std::string(1024, 'x')}}));
  EXPECT_FALSE(render_conf({{std::string(1024, 'X'), "1"}}));
}

}  // namespace
}  // namespace nccl_env::conf_test
