// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/log.h"

#include <gtest/gtest.h>

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
                               {"owned", std::string("s")}});
  const nlohmann::json line = log.only_line();
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["msg"], "decided");
  EXPECT_EQ(line["pod"], "a/b");
  EXPECT_EQ(line["count"], 3);
  EXPECT_EQ(line["size"], std::uint64_t{1} << 63);
  EXPECT_EQ(line["ok"], true);
  EXPECT_EQ(line["seconds"], 0.25);
  EXPECT_EQ(line["owned"], "s");
  EXPECT_EQ(line["time"].get<std::string>().size(), std::string("2026-11-20T08:00:00.123Z").size());
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
  const std::string hostile = "\xc2\x80\xc2\x9b|\xe2\x80\xaa\xe2\x80\xae|\xe2\x81\xa6\xe2\x81\xa9";
  const std::string harmless = "\xc2\xa0\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa";
  log.logger->info("m", {{"hostile", hostile}, {"harmless", harmless}});
  EXPECT_NE(log.text.str().find(R"(\u0080\u009b|\u202a\u202e|\u2066\u2069)"), std::string::npos)
      << log.text.str();
  EXPECT_NE(log.text.str().find(harmless), std::string::npos);
  EXPECT_EQ(log.only_line()["hostile"], hostile);
}

TEST(Log, NumbersThatJsonLacksAreStrings) {
  Captured log;
  log.logger->info("m", {{"nan", std::numeric_limits<double>::quiet_NaN()},
                         {"inf", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(log.only_line()["nan"], "NaN");
  EXPECT_EQ(log.only_line()["inf"], "Inf");
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

TEST(Log, LevelCanBeChangedWhileRunning) {
  Captured log;
  log.logger->debug("hidden");
  EXPECT_EQ(log.text.str(), "");
  log.logger->set_level(LogLevel::Debug);
  log.logger->debug("shown");
  EXPECT_EQ(log.only_line()["msg"], "shown");
  log.logger->set_level(LogLevel::Off);
  log.logger->error("hidden");
  EXPECT_EQ(log.only_line()["msg"], "shown");
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

}  // namespace
}  // namespace nccl_env::log_test
