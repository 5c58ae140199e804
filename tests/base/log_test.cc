// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

namespace nccl_env::log_test {
namespace {

struct Captured {
  std::ostringstream text;
  std::shared_ptr<Logger> logger = Logger::to_stream(text, LogLevel::Info);
  [[nodiscard]] nlohmann::json only_line() const {
    const std::string out = text.str();
    EXPECT_EQ(out.find('\n'), out.size() - 1) << out;
    return nlohmann::json::parse(out);  // strict: throws on bad UTF-8
  }
};

TEST(Log, LineIsOneJsonObjectWithTimeLevelMessageAndTypedFields) {
  Captured log;
  log.logger->warn("decided", {{"pod", "a/b"},
                               {"count", 3},
                               {"size", std::uint64_t{1} << 63},
                               {"ok", true},
                               {"seconds", 0.25},
                               {"nan", std::numeric_limits<double>::quiet_NaN()},
                               {"inf", std::numeric_limits<double>::infinity()},
                               {"owned", std::string("s")}});
  const nlohmann::json line = log.only_line();
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["msg"], "decided");
  EXPECT_EQ(line["pod"], "a/b");
  EXPECT_EQ(line["count"], 3);
  EXPECT_EQ(line["size"], std::uint64_t{1} << 63);
  EXPECT_EQ(line["ok"], true);
  EXPECT_EQ(line["seconds"], 0.25);
  EXPECT_EQ(line["nan"], "NaN") << "numbers that JSON lacks";
  EXPECT_EQ(line["inf"], "Inf");
  EXPECT_EQ(line["owned"], "s");
  EXPECT_EQ(line["time"].get<std::string>().size(), std::string("2026-11-20T08:00:00.123Z").size());
}

TEST(Log, NamesAreAListOrWithAWordEachAnObject) {
  Captured log;
  const std::vector<LogName> names{{"c", "NCCL_IB_HCA", "UserSet"}, {"", "a\"b\xff", "c\n"}};
  log.logger->info("m", {{"list", LogList{names}}, {"object", LogObject{names}}, {"none", LogList{}}});
  const nlohmann::json line = log.only_line();
  EXPECT_EQ(line["list"], nlohmann::json::parse("[\"c/NCCL_IB_HCA\", \"a\\\"b\xef\xbf\xbd\"]"));
  EXPECT_EQ(line["object"]["c/NCCL_IB_HCA"], "UserSet");
  EXPECT_EQ(line["object"]["a\"b\xef\xbf\xbd"], "c\n");
  EXPECT_EQ(line["none"], nlohmann::json::array());
}

TEST(Log, NamesThatAreTooManyEndBehindAWholeOne) {
  const std::vector<LogName> names(1000, {"container", "NCCL_IB_HCA", "UserSet"});
  Captured log;
  log.logger->info("m", {{"list", LogList{names}}, {"object", LogObject{names}}, {"last", 1}});
  const nlohmann::json line = log.only_line();
  EXPECT_LT(line["list"].dump().size(), 4200U);
  EXPECT_EQ(line["list"].front(), "container/NCCL_IB_HCA");
  EXPECT_EQ(line["list"].back(), "\xe2\x80\xa6");
  EXPECT_EQ(line["object"]["container/NCCL_IB_HCA"], "UserSet");
  EXPECT_EQ(line["object"]["\xe2\x80\xa6"], "");
  EXPECT_EQ(line["last"], 1);
}

TEST(Log, HostileStringsStayOneLineOfValidJson) {
  Captured log;
  const std::string nul("a\0b", 3);
  log.logger->info("line\nfeed \"quoted\" \\ \x1b[31m",
                   {{"bad\xff", "\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82"},
                    {"nul", nul},
                    {"good", "\xe2\x82\xac \xf0\x9f\x99\x82"}});
  const nlohmann::json line = log.only_line();
  EXPECT_EQ(line["msg"], "line\nfeed \"quoted\" \\ \x1b[31m");
  EXPECT_EQ(line["nul"], nul);
  EXPECT_EQ(line["good"], "\xe2\x82\xac \xf0\x9f\x99\x82");
  EXPECT_TRUE(line.contains("bad\xef\xbf\xbd"));
}

TEST(Log, CharactersThatTurnTextAroundOnATerminalAreEscaped) {
  Captured log;
  const std::string hostile =
      "\xc2\x80\xc2\x9b|\xe2\x80\xaa\xe2\x80\xae|\xe2\x81\xa6\xe2\x81\xa9|\xf3\xa0\x81\x81";
  const std::string harmless = "\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f\xe2\x81\xb0";
  log.logger->info("m", {{"hostile", hostile}, {"harmless", harmless}});
  EXPECT_NE(log.text.str().find(R"(\u0080\u009b|\u202a\u202e|\u2066\u2069|\udb40\udc41)"), std::string::npos)
      << log.text.str();
  EXPECT_NE(log.text.str().find(harmless), std::string::npos);
  EXPECT_EQ(log.only_line()["hostile"], hostile);
}

TEST(Log, LineStaysUnderSixteenKibibytesAndSaysWhatIsMissing) {
  Captured log;
  const std::string huge(1 << 20, '\x01');  // six bytes each once escaped
  log.logger->info("m", {{"a", huge}, {"b", huge}, {"c", huge}, {"d", huge}, {"e", huge}, {"last", 1}});
  EXPECT_LE(log.text.str().size(), 16u * 1024);
  const nlohmann::json line = log.only_line();
  EXPECT_EQ(line["truncated"], true);
  EXPECT_TRUE(line.contains("a"));
  EXPECT_FALSE(line.contains("e"));
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
  std::ostringstream text;
  Logger::to_stream(text, LogLevel::Error)->warn("hidden");
  Logger::to_stream(text, LogLevel::Off)->error("hidden");
  EXPECT_EQ(text.str(), "");
  Logger::to_stream(text, LogLevel::Error)->error("shown");
  EXPECT_NE(text.str(), "");
  EXPECT_EQ(parse_log_level("error"), LogLevel::Error);
  EXPECT_EQ(parse_log_level("Error"), std::nullopt);
}

TEST(Log, LinesOfManyThreadsDoNotMix) {
  Captured log;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 200; ++i) log.logger->info("m", {{"thread", t}, {"i", i}});
    });
  }
  for (auto& thread : threads) thread.join();
  std::istringstream lines(log.text.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_EQ(count, 800);
}

class Pipe {
 public:
  ~Pipe() {
    close_reader();
    if (logger_) end_logger();
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  void end_logger() {
    logger_.reset();
    ::close(ends_[1]);
  }
  [[nodiscard]] Logger& logger() { return *logger_; }
  // All lines until the logger's end, by another thread.
  std::future<std::vector<nlohmann::json>> read() {
    return std::async(std::launch::async, [this] {
      std::string text;
      std::array<char, 4096> block;
      for (ssize_t size = 1; size > 0;) {
        size = ::read(ends_[0], block.data(), block.size());
        if (size > 0) text.append(block.data(), static_cast<std::size_t>(size));
      }
      EXPECT_TRUE(text.ends_with('\n'));
      std::vector<nlohmann::json> lines;
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
      return lines;
    });
  }

 private:
  static std::array<int, 2> make() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }
  std::array<int, 2> ends_ = make();
  std::shared_ptr<Logger> logger_ = Logger::to_descriptor(ends_[1], LogLevel::Info);
};

TEST(Log, LinesComeInOrderAndCompleteThoughTheLoggerEndsAtOnce) {
  Pipe pipe;
  for (int i = 0; i < 2'000; ++i) pipe.logger().info("m", {{"i", i}});  // 150 KB, of 1 MiB that may wait
  EXPECT_EQ(pipe.logger().dropped(), 0u);
  auto lines = pipe.read();
  pipe.end_logger();
  int next = 0;
  for (const nlohmann::json& line : lines.get()) EXPECT_EQ(line["i"], next++);
  EXPECT_EQ(next, 2'000);
}

TEST(Log, APipeThatNobodyReadsHoldsUpNobodyAndWhatIsMissingIsCounted) {
  Pipe pipe;
  const std::string text(4'000, 'x');
  for (int i = 0; i < 1'000; ++i) pipe.logger().info("m", {{"i", i}, {"text", text}});
  const std::uint64_t dropped = pipe.logger().dropped();
  EXPECT_GT(dropped, 400u);
  EXPECT_LT(dropped, 800u);
  auto lines = pipe.read();
  pipe.end_logger();
  int previous = -1;
  std::uint64_t received = 0, told = 0;
  for (const nlohmann::json& line : lines.get()) {
    if (line["msg"] == "log lines dropped") {
      told += line["count"].get<std::uint64_t>();
      continue;
    }
    EXPECT_GT(line["i"], previous);
    previous = line["i"];
    ++received;
  }
  EXPECT_EQ(told, dropped);
  EXPECT_EQ(received + dropped, 1'000u);
}

TEST(Log, LinesThatCannotBeWrittenAreCounted) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  for (int i = 0; i < 3; ++i) pipe.logger().info("m");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (pipe.logger().dropped() < 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GE(pipe.logger().dropped(), 3u);
}

}  // namespace
}  // namespace nccl_env::log_test
