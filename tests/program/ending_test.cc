// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/ending.h"
#include "nccl_env/program/usage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace nccl_env::program::ending_test {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// The one line that stderr got.
nlohmann::json line() {
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(text.find('\n') + 1, text.size()) << text;
  return nlohmann::json::parse(text, nullptr, false);
}

TEST(Ending, AProgramThatRanLeavesNoLine) {
  CaptureStderr();
  EXPECT_EQ(end_logged(done()), 0);
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(Ending, AFailureIsALineOfTheLogAndSoIsAUsageErrorWhereNoTerminalIs) {
  CaptureStderr();
  EXPECT_EQ(end_logged(at_option("--listen", {"a \"quoted\"\nproblem"})), 1);
  nlohmann::json told = line();
  EXPECT_EQ(told["level"], "error");
  EXPECT_EQ(told["msg"], "could not start");
  EXPECT_EQ(told["problem"], "--listen: a \"quoted\"\nproblem");
  CaptureStderr();
  EXPECT_EQ(refuse_usage({"--store is required", "p run --help"}, Reader::Log), 2);
  told = line();
  EXPECT_EQ(told["msg"], "could not start");
  EXPECT_EQ(told["problem"], "--store is required");
  EXPECT_EQ(told["help"], "p run --help");
}

TEST(Ending, AUsageErrorIsPlainForAPerson) {
  CaptureStderr();
  EXPECT_EQ(refuse_usage({"--out is required", "p show --help"}, Reader::Person), 2);
  EXPECT_EQ(GetCapturedStderr(), "p: --out is required (see p show --help)\n");
}

TEST(Ending, AUsageErrorIsPlainOnATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal) | ::unlockpt(terminal), 0);
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(other_end, STDERR_FILENO);
  const int code = refuse_usage({"--store\x1b[2J is required", "p run --help"}, Reader::Log);
  ::dup2(before, STDERR_FILENO);
  ::close(other_end);
  std::string text;  // in pieces, and then an error: nobody holds the other end any more
  std::array<char, 256> piece{};
  for (ssize_t size = 0; (size = ::read(terminal, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(size));
  for (const int file : {terminal, before}) ::close(file);
  EXPECT_EQ(code, 2);
  EXPECT_EQ(text, "p: --store?[2J is required (see p run --help)\r\n");
}

TEST(EndingDeathTest, AnExceptionThatNothingCatchesIsALine) {
  const auto die = [] {
    log_uncaught_exceptions();
    std::thread([] { throw std::runtime_error("out of luck"); }).join();
  };
  EXPECT_DEATH(
      die(), R"(^\{"time":"[^"]+","level":"error","msg":"ended by an exception","problem":"out of luck"\})");
}

}  // namespace
}  // namespace nccl_env::program::ending_test
