// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/paths.h"

#include <gtest/gtest.h>

namespace nccl_env::kube::paths_test {
namespace {

TEST(Paths, OfCollectionsAndObjects) {
  EXPECT_EQ(path_of(kPolicies), "/apis/nccl-env.io/v1alpha1/ncclpolicies");
  EXPECT_EQ(path_of(kNodes, "gpu-1"), "/api/v1/nodes/gpu-1");
  EXPECT_EQ(path_in("ml", kDeployments), "/apis/apps/v1/namespaces/ml/deployments");
  EXPECT_EQ(path_in("ml", kPods, "train-0"), "/api/v1/namespaces/ml/pods/train-0");
}

TEST(Paths, ANameCannotLeaveItsPlace) {
  EXPECT_EQ(path_of(kNodes, "../pods?x"), "/api/v1/nodes/..%2Fpods%3Fx");
  EXPECT_EQ(path_in("a/b", kPods, "c d"), "/api/v1/namespaces/a%2Fb/pods/c%20d");
}

TEST(Paths, SelectorsJoinTheQuery) {
  EXPECT_EQ(by_field("/pods", "spec.nodeName="), "/pods?fieldSelector=spec.nodeName%3D");
  EXPECT_EQ(by_label(by_field("/pods", "a=b"), "c"), "/pods?fieldSelector=a%3Db&labelSelector=c");
  EXPECT_EQ(by_label(by_field("/pods", ""), ""), "/pods");
}

TEST(Escaped, EverythingButUnreservedCharacters) {
  EXPECT_EQ(escaped("nccl-env.io/policy=a b~_"), "nccl-env.io%2Fpolicy%3Da%20b~_");
  EXPECT_EQ(escaped("\xff\n"), "%FF%0A");
}

}  // namespace
}  // namespace nccl_env::kube::paths_test
