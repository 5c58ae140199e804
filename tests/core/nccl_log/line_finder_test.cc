// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/line_finder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "nccl_env/core/nccl_log/log_verify.h"
#include "nccl_env/core/nccl_log/nccl_log.h"

namespace nccl_env {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

LogVerification verify_lines(const std::string& text) {
  NcclLogReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read_line(line);
  return verify_log(reader.log(), {});
}

TEST(LineFinder, RowsAreSentencesAndNoneStandsTwice) {
  std::set<std::string> seen;
  for (const KnownLine& row : known_lines()) {
    SCOPED_TRACE(std::string(row.words));
    EXPECT_EQ(row.meaning.empty(), row.remedy.empty());
    if (!row.meaning.empty()) {
      EXPECT_THAT(std::string(row.meaning), EndsWith("."));
      EXPECT_THAT(std::string(row.remedy), EndsWith("."));
    }
    if (row.kind == LineKind::Harmless) {
      EXPECT_TRUE(row.meaning.empty());
    }
    if (row.kind == LineKind::Refines) continue;
    EXPECT_GE(row.words.size() + row.also.size(), 8u) << "so short a text stands in other lines";
    EXPECT_TRUE(seen.insert(std::string(row.words) + "\n" + std::string(row.also)).second) << "twice";
  }
}

TEST(LineFinder, EachRowIsReadAndFindsALineAsItsLibraryPrintsIt) {
  std::size_t begun = 0;
  for (const auto& entry : std::filesystem::directory_iterator("src/core/nccl_log/known_lines")) {
    std::ifstream file(entry.path());
    for (std::string line, before; std::getline(file, line); before = line)
      begun +=
          entry.path().extension() == ".txt" && before.empty() && !line.empty() && line[0] != '#' ? 1 : 0;
  }
  EXPECT_EQ(known_lines().size(), begun) << "a row that cannot be read is left out";
  for (const KnownLine& row : known_lines()) {
    if (row.kind == LineKind::Refines) continue;
    SCOPED_TRACE(std::string(row.example));
    EXPECT_EQ(find_known_line(row.example), &row);
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

TEST(MixedNetworks, HostsWithUnlikeNetworksOrPluginsAreTold) {
  const std::string a = "gpu-1:7:8 [0] NCCL INFO ", b = "gpu-2:7:8 [0] NCCL INFO ";
  const std::string own = "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n",
                    path = "Plugin Path : /opt/x/libnccl-net.so\n";
  EXPECT_THAT(verify_lines(a + "Using network IB\n" + b + "Using network IBext\n").sentence,
              HasSubstr("IB on gpu-1; IBext on gpu-2"));
  EXPECT_THAT(verify_lines(a + own + b + path).sentence, StartsWith("MixedNetworks: "));
  EXPECT_TRUE(verify_lines(a + own + a + path).failures.empty()) << "one host, two jobs";
  EXPECT_TRUE(verify_lines(a + path + b + "Plugin Path : /usr/y/libnccl-net.so\n").failures.empty());
}

TEST(UnknownFailure, AnExceptionIsQuotedWhereNothingFailedBefore) {
  const std::string exception = "[rank3]: ValueError: Tokenizer has no padding token\n";
  const std::string answer = verify_lines("loading\n" + exception).sentence;
  EXPECT_THAT(answer, StartsWith("UnknownWarning: "));
  EXPECT_THAT(answer, HasSubstr("Line 2: ValueError: Tokenizer has no padding token."));
  const std::string closed = "n:1:1 [0] x.cc:1 NCCL WARN Connection closed by remote peer b<1>\n";
  EXPECT_THAT(verify_lines(exception + closed).sentence, HasSubstr("Tokenizer"));
  EXPECT_THAT(verify_lines(closed + exception).sentence, StartsWith("PeerClosed: "));
  EXPECT_THAT(verify_lines("terminate called after throwing\n  what():  no room\n").sentence,
              HasSubstr("Line 2: what():  no room."));
}

TEST(UnknownFailure, AnExitCodeOfASignalIsRead) {
  const std::pair<const char*, const char*> lines[] = {
      {"Rank 0 scheduler died (exit code: -9)", "Killed: "},
      {"worker exited with code 137", "Killed: "},
      {"subprocess returned non-zero exit status 135.", "Crashed: "},
      {"[launch] main process exited with return code = -11", "Crashed: "},
      {"RuntimeError: engine timed out after 300 s", "TimedOut: "}};
  for (const auto& [line, begin] : lines) EXPECT_THAT(verify_lines(line).sentence, StartsWith(begin)) << line;
  for (const char* line :
       {"exited with code 0", "exit status 1", "exit code 256", "exit code: ", "return code 9"})
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

TEST(NcclTests, ProcessesThatRunForThemselvesAreTold) {
  const std::string head = "# nThread 1 nGpus 1 minBytes 8\n", end = "# Avg bus bandwidth    : 3.9\n";
  EXPECT_THAT(verify_lines(head + head + end + end).sentence, StartsWith("LaunchFailed, line 2: "));
  EXPECT_THAT(verify_lines(end + end).sentence, StartsWith("LaunchFailed, line 2: "));
  EXPECT_TRUE(verify_lines(head + end + head + end).findings.empty()) << "one after the other";
}

TEST(UnknownFailure, OthersEndsAndOrdinaryWordsAreNone) {
  for (const char* line :
       {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "KeyboardInterrupt: ",
        "INFO: Error: 0 of 5", "ModuleNotFoundError: No module named 'flash_attn'", "handled ValueErrors: 5",
        "see https://x/Error: y", "ConnectionResetError: [Errno 104] Connection reset by peer"})
    EXPECT_TRUE(verify_lines(line).failures.empty()) << line;
}

}  // namespace
}  // namespace nccl_env
