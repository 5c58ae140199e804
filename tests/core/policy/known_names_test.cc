// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/known_names.h"

#include <gtest/gtest.h>

namespace nccl_env::known_names_test {
namespace {

// "rdma/ib" also stands for RoCE by macvlan.
TEST(KnownExposure, IsSubInterfaceBehindSharedPlugins) {
  for (const auto name :
       {"rdma/hca", "rdma/hca1", "rdma/hca8", "rdma/hca_shared_devices_a", "rdma/rdma_shared_device_b",
        "rdma/rdma_shared_device_dx_bond", "rdma/ib", "rdma/shared_ib", "rdma/ib_hdr", "rdma/shared_ib_hdr",
        "aliyun/erdma", "spidernet.io/shared_cx5_gpu1"}) {
    EXPECT_EQ(known_exposure(name), Exposure::SubInterface) << name;
  }
}

TEST(KnownExposure, IsPodOwnedWhereADeviceIsMovedIntoThePod) {
  for (const auto name : {"nvidia.com/hostdev", "nvidia.com/rdma-vf", "nvidia.com/resibp12s0", "amd.com/vnic",
                          "openshift.io/mlnx_rdma", "openshift.io/sriovlegacy", "spidernet.io/gpu1sriov",
                          "rdma/vhca", "rdma/vhca_1", "rdma/roce", "rdma/roce_gdr", "nvidia.com/roce_gdr",
                          "networking.gke.io.networks/rdma-7", "vke.volcengine.com/rdma"}) {
    EXPECT_EQ(known_exposure(name), Exposure::PodOwned) << name;
  }
}

TEST(KnownExposure, OfOtherNamesIsUnknown) {
  for (const auto name :
       {"", "rdma", "rdma/ib_hdr2", "nvidia.com/gpu", "openshift.io/mlnx_bf", "vpc.amazonaws.com/efa",
        "rdma/hca/", "RDMA/HCA", "networking.gke.io.networks/rdma-0.IP"}) {
    EXPECT_EQ(known_exposure(name), std::nullopt) << name;
  }
}

TEST(ExtendedResource, HasADomainOutsideKubernetes) {
  for (const auto name :
       {"rdma/hca", "nvidia.com/gpu", "networking.gke.io.networks/rdma-0.IP", "a/B_c-d.e"}) {
    EXPECT_TRUE(is_extended_resource(name)) << name;
  }
  for (const auto name :
       {"", "cpu", "memory", "hugepages-2Mi", "kubernetes.io/x", "example.kubernetes.io/x",
        "requests.nvidia.com/gpu", "rdma/", "/hca", "rdma/a/b", "rdma/-a", "rd ma/a", "Rdma/a"}) {
    EXPECT_FALSE(is_extended_resource(name)) << name;
  }
  EXPECT_FALSE(is_extended_resource("a/" + std::string(64, 'a')));
}

}  // namespace
}  // namespace nccl_env::known_names_test
