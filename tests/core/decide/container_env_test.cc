// SPDX-License-Identifier: Apache-2.0
#include "decide/container_env.h"

#include <gmock/gmock.h>

#include <string>

namespace nccl_env::container_env_test {
namespace {

bool is_own(const std::string& path) {
  EnvEntry entry;
  entry.name = "NCCL_IB_HCA";
  entry.field_path = path;
  return is_own_field(entry);
}

TEST(ContainerEnv, AnOwnFieldNamesTheVariablesAnnotation) {
  EXPECT_TRUE(is_own("metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']"));
  EXPECT_TRUE(is_own("metadata.annotations['subinterface.nccl-env.io/NCCL_IB_HCA']"));
  EXPECT_FALSE(is_own("metadata.annotations['host.nccl-env.io/NCCL_IB_TC']"));
  EXPECT_FALSE(is_own("metadata.annotations['example.com/NCCL_IB_HCA']"));
}

// One quote was taken for both, and 20 bytes behind the path were read.
TEST(ContainerEnv, AnUnfinishedPathIsNotOurs) {
  const std::string whole = "metadata.annotations['']";
  for (std::size_t size = 0; size <= whole.size(); ++size) EXPECT_FALSE(is_own(whole.substr(0, size)));
  EXPECT_FALSE(is_own("metadata.annotations[']"));
  EXPECT_FALSE(is_own("metadata.annotations']"));
}

}  // namespace
}  // namespace nccl_env::container_env_test
