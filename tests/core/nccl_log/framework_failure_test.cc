// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <gmock/gmock.h>

#include "core/nccl_log/verify_lines.h"

namespace nccl_env::framework_failure_test {
namespace {

std::string told(std::string_view line) {
  const auto failure = read_framework_failure(line);
  return failure ? std::string(to_string(failure->code)) + ": " + describe(*failure) : std::string();
}

TEST(FrameworkFailure, OfTheWatchdogNamesRankAndCollective) {
  const std::string watchdog =
      "[rank3]:[E521 04:13:22.4 ProcessGroupNCCL.cpp:685] [Rank 3] Watchdog caught collective operation "
      "timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
      "600010 milliseconds before timing out.";
  EXPECT_EQ(told(watchdog), "TimedOut: rank 3: ALLREDUCE, SeqNum 1, 1 element, after 600 s");
  const auto failure = read_framework_failure(watchdog);
  EXPECT_EQ(failure->sequence, 1u);
  EXPECT_EQ(failure->elements, 1u);
  EXPECT_EQ(failure->text, watchdog);
  EXPECT_EQ(told("[E ProcessGroupNCCL.cpp:821] [Rank 1] Watchdog caught collective operation timeout: "
                 "WorkNCCL(SeqNum=4120, OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1801120 milliseconds"),
            "TimedOut: rank 1: ALLGATHER, SeqNum 4120, after 1801 s")
      << "up to 2.1";
}

TEST(FrameworkFailure, OfCudaStandsWithoutItsPrefix) {
  EXPECT_EQ(told("[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 336.00 MiB."),
            "GpuOutOfMemory: rank 2: CUDA out of memory.");
  EXPECT_EQ(told("[rank0]:[E1 ProcessGroupNCCL.cpp:1515] [PG 3 Rank 0] Process group watchdog thread "
                 "terminated with exception: CUDA error: an illegal memory access was encountered"),
            "GpuFault: rank 0: CUDA error: an illegal memory access was encountered");
  EXPECT_EQ(told("RuntimeError: CUDA error: system not yet initialized"),
            "NvlinkFabric: CUDA error: system not yet initialized");
  EXPECT_EQ(told("m: Test CUDA failure common.cu:892 'invalid device ordinal'"),
            "GpuNotUsable: Test CUDA failure common.cu:892 'invalid device ordinal'");
  EXPECT_EQ(told("CUDA_VISIBLE_DEVICES=0,1"), "");
}

TEST(FrameworkFailure, BeforeNcclIsOfTheStore) {
  EXPECT_EQ(told("torch.distributed.DistBackendError: [1] is setting up NCCL communicator and retrieving "
                 "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
                 "Socket Timeout"),
            "RendezvousFailed: no ncclUniqueId from rank 0: Socket Timeout");
  EXPECT_EQ(told("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 "
                 "clients joined."),
            "RendezvousFailed: Timed out after 601 seconds waiting for clients. 1/2 clients joined.");
}

TEST(FrameworkFailure, ThatNamesOnlyAResultIsAnEnd) {
  EXPECT_EQ(told("m: Test NCCL failure common.cu:1005 'unhandled cuda error (run with NCCL_DEBUG=INFO for "
                 "details)'"),
            "GaveUp: result 1 unhandled CUDA error");
  EXPECT_EQ(
      told("Last NCCL warning(error) log entry (may be unrelated) 'Bootstrap : no socket interface found'."),
      "NoInterface: Bootstrap : no socket interface found");
}

TEST(FrameworkFailure, OfNcclTestsHasNcclsLastWarningBehindItsSlash) {
  const std::string failed = "m: Test NCCL failure common.cu:959 '";
  EXPECT_EQ(told(failed + "internal error - please report this issue to the NCCL developers / '"),
            "GaveUp: result 3 internal error");
  EXPECT_EQ(told(failed + "remote process exited or there was a network error'"),
            "GaveUp: result 6 remote process exited or network error");
  EXPECT_EQ(told(failed + "internal error / Bootstrap : no socket interface found'"),
            "NoInterface: Bootstrap : no socket interface found");
  EXPECT_FALSE(read_framework_failure(failed + "no error'"));
  EXPECT_FALSE(read_framework_failure(failed));
}

TEST(FrameworkFailure, OfGlooIsOfItsPeersAddress) {
  const std::string full = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:1] timed out, remote=[";
  EXPECT_EQ(told(full + "127.0.0.1]:21990"), "UnreachableInterface: peer 127.0.0.1");
  EXPECT_EQ(told(full + "10.1.2.3]:21990"), "NoConnection: peer 10.1.2.3");
  const std::string loopback =
      "[W] Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually "
      "set the network interface to bind to with GLOO_SOCKET_IFNAME.\n";
  const std::string bootstrap = "a:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.1<0>\n";
  EXPECT_THAT(tests::verify_lines(bootstrap + loopback + full + "127.0.0.1]:2\n").sentence,
              ::testing::StartsWith("UnreachableInterface: "));
  const std::string of_peer = tests::verify_lines(bootstrap + loopback + full + "10.1.2.3]:2\n").sentence;
  EXPECT_THAT(of_peer, ::testing::StartsWith("NoConnection: ")) << "another rank's address";
  EXPECT_THAT(of_peer, ::testing::Not(::testing::HasSubstr("eth0"))) << "NCCL's interface";
}

TEST(CompletedCollective, IsTheLastThatTheWatchdogSaw) {
  EXPECT_EQ(read_completed_collective("PG status: last enqueued work: 9, last completed work: 8"), 8u);
  EXPECT_EQ(read_completed_collective("last enqueued NCCL work: 20891, last completed NCCL work: 20890."),
            20890u);
  EXPECT_FALSE(read_completed_collective("last completed NCCL work: -1."));
  EXPECT_FALSE(read_completed_collective("starting"));
}

}  // namespace
}  // namespace nccl_env::framework_failure_test
