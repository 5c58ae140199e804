// SPDX-License-Identifier: Apache-2.0
// Damaged listings: whatever a paste did to them, the import ends, and gives a table or problems.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "listing/import_fixture.h"
#include "support/places.h"

namespace nccl_env::mutation_test {
namespace {

std::vector<std::string> read_samples() {
  std::vector<std::filesystem::path> paths;
  const auto folder = std::filesystem::path(tests::in_source("/tests/data/tables"));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> samples;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    samples.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return samples;
}

std::size_t below(std::mt19937& random, std::size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

void mutate(std::string& text, const std::vector<std::string>& samples, std::mt19937& random) {
  static constexpr char kLiteral[] = " \t\r\n:#=>'[](),./-0123456789abcdefxX\0\x1b\xc2\xa0\xff";
  static const std::string kBytes(kLiteral, sizeof(kLiteral) - 1);  // with the NUL in its middle
  const auto at = below(random, text.size());
  switch (random() % 6) {
    case 0:
      if (!text.empty()) text[at] = kBytes[below(random, kBytes.size())];
      break;
    case 1:
      text.erase(at, 1 + below(random, 40));
      break;
    case 2:
      text.insert(at, 1, kBytes[below(random, kBytes.size())]);
      break;
    case 3:
      text.resize(at);
      break;
    case 4: {
      const auto& other = samples[below(random, samples.size())];
      text.insert(at, other.substr(below(random, other.size()), below(random, 400)));
      break;
    }
    default:
      text.insert(at, text.substr(below(random, text.size() + 1), below(random, 200)));
  }
}

TEST(Mutations, NeverCrashAndEitherGiveATableOrProblems) {
  const auto samples = read_samples();
  ASSERT_FALSE(samples.empty());
  std::mt19937 random(20261121);  // a fixed seed: the same texts on every run
  int tables = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    std::string text = samples[below(random, samples.size())];
    for (auto left = 1 + below(random, 4); left > 0; --left) mutate(text, samples, random);
    const auto outcome = import_text(text);
    ASSERT_NE(outcome.report.has_value(), !outcome.findings.empty()) << text;
    for (const auto& problem : outcome.findings) ASSERT_FALSE(line_of(problem).empty());
    if (!outcome.report) continue;
    ++tables;
    ASSERT_FALSE(outcome.report->table.ports.empty());
    ASSERT_EQ(round_trip(outcome.report->table), "") << text;
  }
  EXPECT_GT(tables, 100) << "the mutations should leave some listings whole";
  EXPECT_LT(tables, kRuns - 100) << "the mutations should break some listings";
}

TEST(Mutations, TimeIsLinearInTheText) {
  const std::vector<std::string> lines = {"mlx5_1 1 3 ::ffff:10.0.0.1 v2 eth1\n", "mlx5_1 1 3 fe80:\n",
                                          "hca_id: mlx5_1\n", "GID[ 1]: x\n",
                                          "0000:0000:0000:0000:0000:0000:0000:000\n"};
  for (const auto& line : lines) {
    std::string text;
    while (text.size() + line.size() <= (std::size_t{1} << 20U)) text += line;
    const auto start = std::chrono::steady_clock::now();
    (void)import_text(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << line;
  }
}

}  // namespace
}  // namespace nccl_env::mutation_test
