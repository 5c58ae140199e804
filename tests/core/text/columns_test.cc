// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nccl_env::columns_test {
namespace {

using ::testing::ElementsAre;

TEST(PlainText, NothingThatATerminalWouldObeyGetsThrough) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(printable("\u009b2J \u202eABC\u2066 \u200b\ufeff \U000e0041"), "?2J ?ABC? ?? ?")
      << "C1, bidi, tags";
  EXPECT_EQ(printable("\xc3 \xff \xed\xa0\x80 \xc0\x80"), "? ? ??? ??") << "not UTF-8";
}

TEST(PlainText, OtherScriptsAreShownAndMeasuredAsATerminalDoes) {
  const std::string text = "显存不足: Größe e\u0301 🚀";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(display_width(text), 8 + 2 + 6 + 1 + 1 + 2);
  EXPECT_EQ(display_width("\xff"), 1);
  EXPECT_THAT(wrap("显存 不足 ab", 7), ElementsAre("显存", "不足 ab"));
  TextColumns columns(0);
  columns.add({"网卡", "x"});
  columns.add({"ab", "y"});
  EXPECT_EQ(columns.render(), "网卡  x\nab    y\n");
}

TEST(PlainText, LinesBreakBehindBlanksAndCommas) {
  EXPECT_THAT(wrap("=mlx5_1,mlx5_2,mlx5_3", 15), ElementsAre("=mlx5_1,mlx5_2,", "mlx5_3"));
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("a 0123456789 b", 4), ElementsAre("a", "0123456789", "b")) << "too long, and whole";
  EXPECT_THAT(wrap("run `kubectl get pods`, then `no end here", 12),
              ElementsAre("run", "`kubectl get pods`,", "then `no end", "here"));
  EXPECT_THAT(wrap("", 10), ElementsAre(""));
}

TEST(PlainText, ColumnsAreAlignedAndTheLastOneWraps) {
  TextColumns columns(2, 45);
  columns.add({"A", "x", "short"});
  columns.add({"LONGER", "-", "this sentence goes on for longer than one line has room"});
  EXPECT_EQ(columns.render(),
            "  A       x  short\n"
            "  LONGER  -  this sentence goes on for longer\n"
            "             than one line has room\n");
}

}  // namespace
}  // namespace nccl_env::columns_test
