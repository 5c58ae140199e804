// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/duration.h"

#include <gtest/gtest.h>

namespace nccl_env::program::duration_test {
namespace {

TEST(Duration, HasAUnit) {
  const auto seconds = [](const char* text) {
    const auto parsed = parse_duration(text);
    return parsed.ok() ? parsed->count() : -1;
  };
  EXPECT_EQ(seconds("90s"), 90);
  EXPECT_EQ(seconds("15m"), 900);
  EXPECT_EQ(seconds("3h"), 10800);
  EXPECT_EQ(seconds("30d"), 2592000);
  EXPECT_EQ(seconds("0"), 0);
  EXPECT_EQ(seconds("0s"), 0);
  for (const char* bad :
       {"", "3", "h", "-3h", "+3h", "3H", "3 h", "3hh", "1h30m", "1.5h", "99999999999s", "36526d"})
    EXPECT_EQ(seconds(bad), -1) << bad;
}

}  // namespace
}  // namespace nccl_env::program::duration_test
