// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/line_finder.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>
#include <string>

#include "core/nccl_log/verify_lines.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/known_lines/text.h"

namespace nccl_env::line_finder_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::verify_lines;

TEST(LineFinder, RowsAreSentencesAndNoneStandsTwice) {
  std::set<std::string> seen;
  for (const KnownLine& row : known_lines()) {
    SCOPED_TRACE(std::string(row.words));
    EXPECT_EQ(row.meaning.empty(), row.remedy.empty());
    EXPECT_TRUE(is_printable_ascii(row.meaning) && is_printable_ascii(row.remedy)) << "shown as ???";
    if (!row.meaning.empty()) {
      EXPECT_THAT(std::string(row.meaning), EndsWith("."));
      EXPECT_THAT(std::string(row.remedy), EndsWith("."));
    }
    if (row.kind == LineKind::Harmless) {
      EXPECT_TRUE(row.meaning.empty());
    }
    if (row.kind == LineKind::Refines) continue;
    EXPECT_EQ((std::string(row.words) + "\n" + std::string(row.also)).find("  "), std::string::npos)
        << "runs of blanks in a line count as one";
    EXPECT_GE(row.words.size() + row.also.size(), 8u) << "so short a text stands in other lines";
    EXPECT_TRUE(seen.insert(std::string(row.words) + "\n" + std::string(row.also)).second) << "twice";
  }
}

TEST(LineFinder, EachRowIsReadAndFindsALineAsItsLibraryPrintsIt) {
  std::size_t begun = 0;
  std::istringstream text{std::string(kKnownLines)};
  for (std::string line, before; std::getline(text, line); before = line)
    begun += before.empty() && !line.empty() && line[0] != '#' ? 1 : 0;
  EXPECT_EQ(known_lines().size(), begun) << "a row that cannot be read is left out";
  for (const KnownLine& row : known_lines()) {
    if (row.kind == LineKind::Refines) continue;
    SCOPED_TRACE(std::string(row.example));
    EXPECT_EQ(row.kind == LineKind::Hint ? find_hint(row.example) : find_known_line(row.example), &row);
    const LogVerification verification = verify_lines(std::string(row.example));
    const bool harmless = row.kind == LineKind::Harmless;
    EXPECT_EQ(is_good(verification.findings), harmless);
    EXPECT_THAT(verification.sentence,
                HasSubstr(harmless ? "its warnings are harmless" : std::string(to_string(row.code)) + ": "));
    EXPECT_THAT(verification.sentence, HasSubstr(std::string(row.meaning)));
  }
}

TEST(LineFinder, ARowThatCannotBeReadIsLeftOut) {
  const auto rows = parse_known_lines(
      "# a comment\n\nfailure NoRoute\nwords \" on way \"\n\nfailure NoSuchCode\nwords a\n\necho "
      "NoRoute\nword "
      "a\n\nharmless\nwords b\nline c b");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].words, " on way ");
  EXPECT_EQ(rows[1].kind, LineKind::Harmless);
  EXPECT_TRUE(parse_known_lines("").empty());
}

TEST(LineFinder, AFailureOfItsCodeIsRefinedByItsWords) {
  ASSERT_NE(refine_line(Code::GpuFault, "NVRM: Xid (PCI:0000:3b:00): 79"), nullptr);
  EXPECT_EQ(refine_line(Code::LinkDown, "NVRM: Xid (PCI:0000:3b:00): 79"), nullptr);
  EXPECT_EQ(find_known_line("NVRM: Xid (PCI:0000:3b:00): 79"), nullptr) << "its number decides the code";
}

TEST(Hint, CountsInALineThatTellsAnErrorAndWhereNothingFailedBefore) {
  const std::string refused = "ERROR: rpc to 10.0.0.2:5000 failed: Connection refused\n",
                    closed = "n:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer b<1>\n";
  EXPECT_THAT(verify_lines(refused).sentence,
              StartsWith("NoConnection: A host answers, and nobody listens there"));
  EXPECT_THAT(verify_lines(closed + refused).sentence, StartsWith("PeerClosed: "));
  for (const char* line : {"rpc failed: Connection refused, retrying in 5 s",
                           "WARNING: failed: Connection refused", "the words Connection refused alone"})
    EXPECT_TRUE(verify_lines(line).failures.empty()) << line;
}

TEST(BrokenLine, IsKnownWithTheLineBefore) {
  EXPECT_THAT(
      verify_lines("ValueError: Free memory on device cuda:0 (1/2 GiB) on startup is\nless than desired GPU "
                   "memory utilization (0.9, 1 GiB)\n")
          .sentence,
      StartsWith("GpuOutOfMemory: "));
  EXPECT_THAT(verify_lines("is\nn:1:1 [0] NCCL INFO x\nless than desired GPU memory utilization").sentence,
              Not(HasSubstr("GpuOutOfMemory")));
}

}  // namespace
}  // namespace nccl_env::line_finder_test
