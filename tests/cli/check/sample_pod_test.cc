// SPDX-License-Identifier: Apache-2.0
#include "check/namespace_check.h"

#include <gmock/gmock.h>

namespace nccl_env::sample_pod_test {
namespace {

using ::testing::ElementsAre;

TEST(SampleResources, AreThePatternsWithoutTheirStar) {
  NcclPolicy policy;
  for (const char* glob : {"rdma/hca", "rdma/hca_[a-c]*", "rdma/*", "*", "example.com/vf?",
                           "vpc.amazonaws.com/efa", "vpc.amazonaws.com/ef*", "rdma/-[!a]"})
    policy.resources.push_back({glob, {}});
  EXPECT_THAT(cli::sample_resources(policy), ElementsAre("rdma/hca", "vpc.amazonaws.com/ef"));
}

}  // namespace
}  // namespace nccl_env::sample_pod_test
