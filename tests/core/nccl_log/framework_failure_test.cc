// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/framework_failure.h"

#include <gmock/gmock.h>

namespace nccl_env::framework_failure_test {
namespace {

std::string told(std::string_view line) {
  const auto failure = read_framework_failure(line);
  return failure ? std::string(to_string(failure->code)) + ": " + describe(*failure) : std::string();
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
