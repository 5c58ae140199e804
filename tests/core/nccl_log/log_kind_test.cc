// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/log_kind.h"

#include <gmock/gmock.h>

namespace nccl_env::log_kind_test {
namespace {

using ::testing::HasSubstr;

TEST(LogKind, OfWhatIsNoTextIsNamedWithTheCommandThatGivesIt) {
  EXPECT_THAT(why_no_text("\x1f\x8b\x08"), HasSubstr("zcat FILE | nccl-env verify -"));
  EXPECT_THAT(why_no_text("\x7f\x45LF\x02", true), HasSubstr("a program"));
  EXPECT_THAT(why_no_text(std::string(257, '\0') + "ustar"), HasSubstr("tar"));
  EXPECT_THAT(why_no_text(std::string_view("a\0b", 3)), HasSubstr("binary"));
  EXPECT_EQ(why_no_text(std::string_view("\0\0n:1:1 [0] NCCL INFO", 21), true), "");
  EXPECT_EQ(why_no_text("n:1:1 [0] NCCL INFO"), "");
  EXPECT_EQ(why_no_text(""), "");
}

}  // namespace
}  // namespace nccl_env::log_kind_test
