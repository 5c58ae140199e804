// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/places.h"

namespace nccl_env::tests {
namespace {

constexpr std::string_view kSection = "# ";
constexpr std::string_view kInput = "> ";
constexpr std::string_view kNoInput = ">";  // of an entry behind another
constexpr std::string_view kOutput = "  ";
constexpr std::string_view kTests = "tests/";
constexpr std::string_view kTestEnd = "_test.cc";

struct Entry {
  std::string text;
  Place at;
};
using Sections = std::map<std::string, std::vector<std::string>>;  // entries by test

std::string name_of(const ::testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

// "tests/judge/explain/job_test.cc" -> "judge/explain/job"; "" for a test that has no golden.
std::string golden_of(const ::testing::TestInfo& test) {
  const std::string_view file = test.file();
  const std::size_t at = file.rfind(kTests);
  if (at == file.npos || !file.ends_with(kTestEnd)) return "";
  const std::size_t begin = at + kTests.size();
  return std::string(file.substr(begin, file.size() - begin - kTestEnd.size()));
}

std::string path_of(const std::string& golden) {
  return in_source("/tests/data/golden/" + golden + ".txt");
}

bool writes() {
  return std::getenv("NCCL_ENV_WRITE_GOLDENS") != nullptr;
}

void add_lines(std::string& entry, std::string_view mark, std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    entry.append(line.empty() && mark == kOutput ? "" : mark).append(line).append("\n");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

// An entry begins at an input line behind something else, or at the section's first line.
Sections sections_in(const std::string& golden) {
  Sections sections;
  std::vector<std::string>* entries = nullptr;
  bool in_input = false;
  std::ifstream file(path_of(golden));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kSection)) {
      entries = &sections[line.substr(kSection.size())];
    } else if (entries != nullptr) {
      const bool input = line.starts_with(kInput) || line == kNoInput;
      if (entries->empty() || (input && !in_input)) entries->emplace_back();
      entries->back() += line + "\n";
      in_input = input;
    }
  }
  for (auto& [test, of_test] : sections)
    if (!of_test.empty() && of_test.back().ends_with("\n\n")) of_test.back().pop_back();
  return sections;
}

// All tests of the program, in the order of their registration.
std::vector<const ::testing::TestInfo*> all_tests() {
  std::vector<const ::testing::TestInfo*> tests;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < program.total_test_suite_count(); ++suite)
    for (int at = 0; at < program.GetTestSuite(suite)->total_test_count(); ++at)
      tests.push_back(program.GetTestSuite(suite)->GetTestInfo(at));
  return tests;
}

// Holds what the running test has said, and compares it when the test ends.
class Goldens : public ::testing::EmptyTestEventListener {
 public:
  static std::vector<Entry>& said() {
    static std::vector<Entry> entries;
    return entries;
  }

 private:
  void OnTestStart(const ::testing::TestInfo&) override { said().clear(); }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (test.result()->Skipped() || test.result()->HasFatalFailure()) return;
    const std::string golden = golden_of(test);
    const std::string name = name_of(test);
    Sections& kept = kept_.try_emplace(golden).first->second;
    if (read_.insert(golden).second) kept = sections_in(golden);
    std::vector<std::string>& of_test = kept[name];
    if (writes()) {
      of_test.clear();
      for (const Entry& entry : said()) of_test.push_back(entry.text);
      return;
    }
    const std::vector<Entry>& now = said();
    for (std::size_t at = 0; at < now.size(); ++at) {
      const std::string was = at < of_test.size() ? of_test[at] : "";
      if (now[at].text == was) continue;
      const ::testing::ScopedTrace where(now[at].at.file, now[at].at.line, "said here");
      EXPECT_EQ(was, now[at].text) << "make goldens, and look at what changed";
    }
    for (std::size_t at = now.size(); at < of_test.size(); ++at)
      ADD_FAILURE() << "the golden has more than the test said:\n" << of_test[at];
  }

  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    if (!writes()) return;
    std::map<std::string, std::string> texts;
    for (const auto& golden : read_) texts[golden];
    for (const ::testing::TestInfo* test : all_tests()) {
      const auto kept = kept_.find(golden_of(*test));
      if (kept == kept_.end()) continue;
      const std::vector<std::string>& entries = kept->second[name_of(*test)];
      if (entries.empty()) continue;
      std::string& text = texts[kept->first];
      text += (text.empty() ? "" : "\n") + std::string(kSection) + name_of(*test) + "\n";
      for (const std::string& entry : entries) text += entry;
    }
    for (const auto& [golden, text] : texts) {
      if (golden.empty()) continue;
      const std::filesystem::path path = path_of(golden);
      if (text.empty()) {
        std::filesystem::remove(path);
      } else {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
      }
    }
  }

  std::set<std::string> read_;
  std::map<std::string, Sections> kept_;
};

const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Goldens);
  return true;
}();

// Each golden of this program's layer has its tests.
TEST(Goldens, HaveNoSectionWithoutATest) {
  std::set<std::string> layers, known;
  for (const ::testing::TestInfo* test : all_tests()) {
    const std::string golden = golden_of(*test);
    if (golden.empty()) continue;
    layers.insert(golden.substr(0, golden.find('/')));
    known.insert(golden + " " + name_of(*test));
  }
  const std::string root = in_source("/tests/data/golden/");
  for (const std::string& layer : layers) {
    if (!std::filesystem::exists(root + layer)) continue;
    for (const auto& file : std::filesystem::recursive_directory_iterator(root + layer)) {
      if (!file.is_regular_file()) continue;
      const std::string path = file.path().string();
      const std::string golden =
          path.substr(root.size(), path.size() - root.size() - std::string_view(".txt").size());
      const Sections sections = sections_in(golden);
      EXPECT_FALSE(sections.empty()) << path;
      for (const auto& [test, entries] : sections)
        EXPECT_TRUE(known.contains(golden + " " + test)) << path << " has a section of " << test;
    }
  }
}

}  // namespace

void expect_golden(std::string_view input, std::string_view output, Place at) {
  std::string entry;
  add_lines(entry, kInput, input.empty() ? "(empty)" : input);
  add_lines(entry, kOutput, output.empty() ? "(nothing)" : output);
  Goldens::said().push_back({std::move(entry), at});
}

void expect_golden(std::string_view output, Place at) {
  std::string entry = Goldens::said().empty() ? "" : std::string(kNoInput) + "\n";
  add_lines(entry, kOutput, output.empty() ? "(nothing)" : output);
  Goldens::said().push_back({std::move(entry), at});
}

}  // namespace nccl_env::tests
