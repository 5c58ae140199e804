// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/cli/verdict_colours.h"

#include <gtest/gtest.h>

#include <sstream>

namespace nccl_env::verdict_colours_test {
namespace {

using cli::VerdictColours;
using cli::wants_colours;

std::string coloured(const std::string& text) {
  std::ostringstream shown;
  VerdictColours colours(shown);
  std::ostream out(&colours);
  out << text << std::flush;
  EXPECT_TRUE(out);
  return shown.str();
}

TEST(VerdictColours, AVerdictAtTheBeginningOfALineHasOne) {
  EXPECT_EQ(coloured("error PortDown: A port\n  gpu-7  mlx5_1  Down\n"),
            "\x1b[31merror\x1b[0m PortDown: A port\n  gpu-7  mlx5_1  Down\n");
  EXPECT_EQ(coloured("! gpu-7  mlx5_1\n  gpu-8\n"), "\x1b[31m!\x1b[0m gpu-7  mlx5_1\n  gpu-8\n");
  EXPECT_EQ(coloured("  warning  ValuesDiffer\n"), "  \x1b[33mwarning\x1b[0m  ValuesDiffer\n");
  EXPECT_EQ(coloured("not seen  agents\nok        hooks\n"),
            "\x1b[33mnot seen\x1b[0m  agents\n\x1b[32mok\x1b[0m        hooks\n");
}

TEST(VerdictColours, SentencesDocumentsAndDeeperLinesAreAsTheyWere) {
  for (const std::string text :
       {"used by the pool\n", "error in the log\n", "errors: 1\n", "\"error\": 1\n", "    error  NoAnswer\n",
        "NCCL_IB_HCA==mlx5_1\n", "\n", "   \n", "!\n", "error", "ok"})
    EXPECT_EQ(coloured(text), text);
}

TEST(VerdictColours, ALineIsPassedOnOnceItIsCompleteOrFlushed) {
  std::ostringstream shown;
  VerdictColours colours(shown);
  std::ostream out(&colours);
  out << "err";
  EXPECT_EQ(shown.str(), "");
  out << "or X\nand";
  EXPECT_EQ(shown.str(), "\x1b[31merror\x1b[0m X\n");
  out << std::flush << " more";
  EXPECT_EQ(shown.str(), "\x1b[31merror\x1b[0m X\nand");
}

TEST(VerdictColours, AFullDiskIsToldToTheWriter) {
  std::ostringstream shown;
  VerdictColours colours(shown);
  std::ostream out(&colours);
  shown.setstate(std::ios::badbit);
  out << "x\n" << std::flush;
  EXPECT_FALSE(out);
}

TEST(VerdictColours, NoColorAndADumbTerminalHaveNone) {
  EXPECT_TRUE(wants_colours(nullptr, "xterm"));
  EXPECT_TRUE(wants_colours("", "xterm"));
  EXPECT_FALSE(wants_colours("0", "xterm"));
  EXPECT_FALSE(wants_colours(nullptr, "dumb"));
  EXPECT_FALSE(wants_colours(nullptr, nullptr));
}

}  // namespace
}  // namespace nccl_env::verdict_colours_test
