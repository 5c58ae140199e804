// SPDX-License-Identifier: Apache-2.0
// Against the kernel of the machine that runs the tests.
#include "nccl_env/node/kernel_events.h"

#include <gtest/gtest.h>

namespace nccl_env::node::kernel_events_test {
namespace {

TEST(KernelEvents, OfLinksAndDevicesAreHeardWithoutPrivilege) {
  for (const auto& events : {KernelEvents::of_links, KernelEvents::of_devices}) {
    const auto opened = events();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_GE((*opened)->descriptor(), 0);
  }
}

TEST(KernelEvents, OnlyDevicesOfRdmaCount) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(is_rdma_uevent(
      "remove@/devices/virtual/infiniband/rxe1\0ACTION=remove\0SUBSYSTEM=infiniband\0SEQNUM=7\0"sv));
  EXPECT_TRUE(is_rdma_uevent("add@/x\0SUBSYSTEM=infiniband_verbs"sv));
  EXPECT_FALSE(
      is_rdma_uevent("add@/devices/virtual/net/veth1\0SUBSYSTEM=net\0INTERFACE=SUBSYSTEM=infiniband\0"sv));
  for (const auto text : {""sv, "\0"sv, "\0\0\0"sv, "SUBSYSTEM=inf"sv}) EXPECT_FALSE(is_rdma_uevent(text));
}

}  // namespace
}  // namespace nccl_env::node::kernel_events_test
