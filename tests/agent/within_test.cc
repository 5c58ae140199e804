// SPDX-License-Identifier: Apache-2.0
#include "within.h"

#include <gtest/gtest.h>

#include <memory>

namespace nccl_env::agent::within_test {
namespace {

using std::chrono::milliseconds;

TEST(Within, GivesWhatComesInTime) {
  EXPECT_EQ(within(std::chrono::hours(1), [] { return 7; }), 7);
}

TEST(Within, DoesNotWaitForWhatHangs) {
  // Lets the work end with the test.
  const auto gate = std::make_shared<std::promise<void>>();
  const auto open = gate->get_future().share();
  EXPECT_EQ(within(milliseconds(1),
                   [open] {
                     open.wait();
                     return 7;
                   }),
            std::nullopt);
  gate->set_value();
}

}  // namespace
}  // namespace nccl_env::agent::within_test
