// SPDX-License-Identifier: Apache-2.0
#include "throttle.h"

#include <gtest/gtest.h>

namespace nccl_env::webhook::throttle_test {
namespace {

TEST(Throttle, LetsOneLineAMinuteThroughAndCountsTheOthers) {
  Throttle throttle;
  const Throttle::Time begin{std::chrono::hours(5)};
  EXPECT_EQ(throttle.pass(begin), 0u);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(throttle.pass(begin + std::chrono::seconds(i)), std::nullopt);
  EXPECT_EQ(throttle.pass(begin + std::chrono::seconds(60)), 7u);
  EXPECT_EQ(throttle.pass(begin + std::chrono::seconds(119)), std::nullopt);
  EXPECT_EQ(throttle.pass(begin + std::chrono::hours(1)), 1u);
}

}  // namespace
}  // namespace nccl_env::webhook::throttle_test
