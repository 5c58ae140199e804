// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nccl_env::columns_test {
namespace {

using ::testing::ElementsAre;

TEST(PlainText, NothingThatATerminalWouldObeyGetsThrough) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f\xc3\xa4"), "a?[2Jb????");
}

TEST(PlainText, LinesBreakBehindBlanksAndCommas) {
  EXPECT_THAT(wrap("=mlx5_1,mlx5_2,mlx5_3", 15), ElementsAre("=mlx5_1,mlx5_2,", "mlx5_3"));
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
}

TEST(PlainText, AWordThatIsTooLongStaysWhole) {
  EXPECT_THAT(wrap("a 0123456789 b", 4), ElementsAre("a", "0123456789", "b"));
}

TEST(PlainText, ACommandBetweenBackquotesStaysWhole) {
  EXPECT_THAT(wrap("run `kubectl get pods`, then `no end here", 12),
              ElementsAre("run", "`kubectl get pods`,", "then `no end", "here"));
}

TEST(PlainText, EmptyTextIsOneEmptyLine) {
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
