// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <gmock/gmock.h>

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
  EXPECT_EQ(told(watchdog), "TimedOut: rank 3: ALLREDUCE, SeqNum 1, after 600 s");
  const auto failure = read_framework_failure(watchdog);
  EXPECT_EQ(failure->text, watchdog);
  EXPECT_EQ(told("[E ProcessGroupNCCL.cpp:821] [Rank 1] Watchdog caught collective operation timeout: "
                 "WorkNCCL(SeqNum=4120, OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1801120 milliseconds"),
            "TimedOut: rank 1: ALLGATHER, SeqNum 4120, after 1801 s")
      << "up to 2.1";
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

}  // namespace
}  // namespace nccl_env::framework_failure_test
