// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/timestamp.h"

#include <gtest/gtest.h>

#include <random>

namespace nccl_env::timestamp_test {
namespace {

TEST(Timestamp, ReadsUtcOffsetsAndFractions) {
  const Timestamp expected(std::chrono::seconds(1795161600));
  for (const char* text :
       {"2026-11-20T08:00:00Z", "2026-11-20T08:00:00.999999999Z", "2026-11-20T16:00:00+08:00",
        "2026-11-19T22:30:00-09:30", "2026-11-20t08:00:00z", "2026-11-20T08:00:00-00:00"}) {
    ASSERT_TRUE(parse_timestamp(text).ok()) << text;
    EXPECT_EQ(*parse_timestamp(text), expected) << text;
  }
  EXPECT_EQ(format_timestamp(expected), "2026-11-20T08:00:00Z");
}

TEST(Timestamp, RefusesWhatIsNoPointInTime) {
  for (const char* text :
       {"", "2026-11-20", "2026-11-20T08:00:00", "2026-11-20 08:00:00Z", "2026-11-20T08:00Z",
        "2026-11-20T08:00:00.Z", "2026-11-20T08:00:00,5Z", "2026-11-20T08:00:00Z ", " 2026-11-20T08:00:00Z",
        "1795161600", "+2026-11-20T08:00:00Z", "12026-11-20T08:00:00Z", "2026-11-20T08:00:0xZ",
        "2026-11-20T08:00:00.5", "2026-1-20T08:00:00Z"})
    EXPECT_FALSE(parse_timestamp(text).ok()) << text;
  // Numbers out of their range.
  for (const char* text :
       {"2026-13-20T08:00:00Z", "2026-00-20T08:00:00Z", "2026-02-29T08:00:00Z", "2026-11-31T08:00:00Z",
        "2026-11-20T24:00:00Z", "2026-11-20T08:60:00Z", "2026-11-20T08:00:60Z", "2026-11-20T08:00:00+24:00",
        "2026-11-20T08:00:00+08:60", "2026-11-20T08:00:00+0800", "2026-11-20T08:00:00+08",
        "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"})
    EXPECT_FALSE(parse_timestamp(text).ok()) << text;
}

TEST(Timestamp, ReadsBackWhatItWrites) {
  std::mt19937_64 random(1);
  const auto first = *parse_timestamp("0000-01-01T00:00:00Z");
  const auto last = *parse_timestamp("9999-12-31T23:59:59Z");
  const auto span = static_cast<unsigned long>((last - first).count()) + 1;
  for (int round = 0; round < 20000; ++round) {
    const Timestamp time = first + std::chrono::seconds(random() % span);
    const auto again = parse_timestamp(format_timestamp(time));
    ASSERT_TRUE(again.ok() && *again == time) << format_timestamp(time);
  }
  EXPECT_EQ(format_timestamp(first), "0000-01-01T00:00:00Z");
  EXPECT_EQ(format_timestamp(last), "9999-12-31T23:59:59Z");
}

}  // namespace
}  // namespace nccl_env::timestamp_test
