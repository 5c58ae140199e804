// SPDX-License-Identifier: Apache-2.0
// docs/reference/cli.md shows what the program prints: each `$ nccl-env …` of a console block, in order.
#include <gmock/gmock.h>

#include "cli/console.h"

namespace nccl_env::cli_doc_test {
namespace {

using namespace nccl_env::tests;

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
      EXPECT_THAT(printed, ::testing::StartsWith(shown)) << example.command;
    } else {
      EXPECT_EQ(printed, example.printed) << example.command;
    }
  }
}

}  // namespace
}  // namespace nccl_env::cli_doc_test
