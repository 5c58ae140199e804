// SPDX-License-Identifier: Apache-2.0
// docs/cli.md shows what the program prints: each `$ nccl-env …` of a console block, in order.
#include <gmock/gmock.h>

#include "cli_run.h"

namespace nccl_env {
namespace {

using namespace nccl_env::testing;

struct Example {
  std::string command;  // without "nccl-env "
  std::string printed;  // ends in "…\n" where the page leaves the rest out
};

std::vector<Example> examples() {
  const std::string prompt = "$ nccl-env ";
  std::vector<Example> found;
  std::ifstream file(source_file("docs/cli.md"));
  bool console = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      console = line == "```console";
    } else if (console && line.starts_with(prompt)) {
      found.push_back({line.substr(prompt.size()), {}});
    } else if (console && !found.empty()) {
      found.back().printed += line + "\n";
    }
  }
  return found;
}

std::string without(std::string text, const std::string& prefix) {
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) text.erase(at, prefix.size());
  return text;
}

class CliDoc : public CliTest {
 protected:
  // Files of the repository are named from its root, the page's own from the test's directory.
  [[nodiscard]] std::string resolve(const std::string& word) const {
    if (word.starts_with("tests/") || word.starts_with("policies/")) return source_file(word);
    return word.ends_with(".yaml") ? path(word) : word;
  }

  // What the console shows.
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
};

TEST_F(CliDoc, EveryExampleIsWhatTheProgramPrints) {
  const std::string cut = "…\n";
  const std::vector<Example> all = examples();
  EXPECT_GE(all.size(), 10u);
  for (const Example& example : all) {
    const std::string printed = run(example.command);
    if (example.printed.ends_with(cut)) {
      const std::string shown = example.printed.substr(0, example.printed.size() - cut.size());
      EXPECT_THAT(printed, ::testing::StartsWith(shown)) << example.command;
    } else {
      EXPECT_EQ(printed, example.printed) << example.command;
    }
  }
}

}  // namespace
}  // namespace nccl_env
