// SPDX-License-Identifier: Apache-2.0
// Text of a console, `$ nccl-env …` and what it prints, run again. Files below tests/ and policies/ are the
// repository's, other .yaml files the test's own; what ends in "> FILE" is written there.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/cli_run.h"

namespace nccl_env::console_test {
namespace {

using namespace nccl_env::tests;

struct ConsoleExample {
  std::string command;  // without "nccl-env "
  std::string printed;
};

constexpr std::string_view kPrompt = "$ nccl-env ";

// The commands among the lines, each with the lines up to the next.
std::vector<ConsoleExample> console_examples(const std::vector<std::string>& lines) {
  std::vector<ConsoleExample> found;
  for (const std::string& line : lines) {
    if (line.starts_with(kPrompt)) {
      found.push_back({line.substr(kPrompt.size()), {}});
    } else if (!found.empty()) {
      found.back().printed += line + "\n";
    }
  }
  return found;
}

class ConsoleTest : public CliTest {
 protected:
  // Returns what the console shows.
  [[nodiscard]] std::string run(const std::string& command) const {
    std::vector<std::string> words;
    std::string target;
    std::istringstream text(command);
    for (std::string word; text >> word;) {
      if (word == ">") {
        text >> target;
      } else {
        words.push_back(resolve(word));
      }
    }
    const CliResult result = run_cli(words);
    if (!target.empty()) write(target, result.out);
    const std::string shown = (target.empty() ? result.out : "") + result.err;
    return without(without(shown, source_file("")), path(""));
  }

 private:
  [[nodiscard]] std::string resolve(const std::string& word) const {
    if (word.starts_with("tests/") || word.starts_with("policies/")) return source_file(word);
    return word.ends_with(".yaml") || word.ends_with(".html") ? path(word) : word;
  }

  static std::string without(std::string text, const std::string& prefix) {
    for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;)
      text.erase(at, prefix.size());
    return text;
  }
};

// docs/reference/cli.md shows what the program prints: each command of a console block, in order.
std::vector<ConsoleExample> examples() {
  std::vector<std::string> lines;
  std::ifstream file(source_file("docs/reference/cli.md"));
  bool console = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      console = line == "```console";
    } else if (console) {
      lines.push_back(line);
    }
  }
  return console_examples(lines);
}

class CliDoc : public ConsoleTest {};

TEST_F(CliDoc, EveryExampleIsWhatTheProgramPrints) {
  const std::string cut = "…\n";
  const std::vector<ConsoleExample> all = examples();
  EXPECT_GE(all.size(), 10u);
  for (const ConsoleExample& example : all) {
    const std::string printed = run(example.command);
    if (example.printed.ends_with(cut)) {
      const std::string shown = example.printed.substr(0, example.printed.size() - cut.size());
      EXPECT_THAT(printed, StartsWith(shown)) << example.command;
    } else {
      EXPECT_EQ(printed, example.printed) << example.command;
    }
  }
}

// Values that a pod of each fabric gets under the policy that we ship for it: the file NAME.txt holds the
// commands and what they print. `make goldens` runs the commands again and writes what they print now.
const std::string kFolder = "tests/data/golden/policies";

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_file(folder)))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<ConsoleExample> golden(const std::string& name) {
  std::vector<std::string> lines;
  std::ifstream file(source_file(kFolder + "/" + name + ".txt"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return console_examples(lines);
}

class PolicyGolden : public ConsoleTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(PolicyGolden, IsWhatThePodGets) {
  const std::vector<ConsoleExample> kept = golden(GetParam());
  ASSERT_FALSE(kept.empty());
  const std::string& last = kept.back().command;
  EXPECT_TRUE(last.starts_with("explain --policy policies/" + GetParam() + ".yaml ")) << last;
  EXPECT_THAT(last, HasSubstr(" --at 20")) << "a table gets stale";
  EXPECT_THAT(last, HasSubstr(" --nccl-version 2.")) << "the newest is another one day";

  const bool writes = std::getenv("NCCL_ENV_WRITE_GOLDENS") != nullptr;
  std::string now;
  for (const ConsoleExample& example : kept) {
    const std::string printed = run(example.command);
    now.append(kPrompt).append(example.command).append("\n").append(printed);
    if (!writes) {
      EXPECT_EQ(printed, example.printed) << "make goldens, and look at what changed";
    }
  }
  if (writes) std::ofstream(source_file(kFolder + "/" + GetParam() + ".txt")) << now;
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyGolden, ::testing::ValuesIn(names_in(kFolder)),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PolicyGoldens, EveryPolicyHasOne) {
  EXPECT_EQ(names_in("policies"), names_in(kFolder));
}

// A node or a pod that no golden reads proves nothing.
TEST(PolicyGoldens, EveryNodeAndPodIsUsed) {
  std::set<std::string> used;
  for (const std::string& name : names_in(kFolder)) {
    for (const ConsoleExample& example : golden(name)) {
      std::istringstream words(example.command);
      for (std::string word; words >> word;) used.insert(word);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/policies"))) {
    const std::string file = "tests/data/policies/" + entry.path().filename().string();
    EXPECT_TRUE(used.contains(file)) << file;
  }
}

}  // namespace
}  // namespace nccl_env::console_test
