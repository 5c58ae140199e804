// SPDX-License-Identifier: Apache-2.0
// Mistakes on a command line: what is named, and how --help names values and commands.
#include "nccl_env/program/usage.h"

#include <gmock/gmock.h>

#include "nccl_env/program/choice.h"
#include "nccl_env/program/help_formatter.h"

namespace nccl_env::program::usage_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class UsageTest : public ::testing::Test {
 protected:
  UsageTest() {
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.require_subcommand(1);
    CLI::App* run = app_.add_subcommand("run", "Runs.");
    run->add_option("--store", text_, "Where")->required();
    run->add_option("--lines", number_, "How many")->type_name("LINES")->check(CLI::PositiveNumber);
    run->add_option("--threads", number_, "Threads")->check(CLI::Range(0, 256));
    run->add_option("--level", text_, "Level")->type_name("SHELL ")->check(one_of({"info", "warn"}));
    run->add_option("--plain", text_, "Plain");
    run->add_option("--listen", text_, "Address")->type_name("ADDR:PORT");
    CLI::App* table = app_.add_subcommand("table", "Tables.");
    table->require_subcommand(1);
    table->add_subcommand("import", "Imports.");
    table->add_subcommand("show", "Shows.");
  }
  static std::string sentence(CLI::App& app, const std::vector<std::string>& words) {
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      return usage_problem(app, words, error.what()).sentence();
    }
    return "fine";
  }

  CLI::App app_{"A program.", "prog"};
  std::string text_;
  int number_ = 0;
};

TEST_F(UsageTest, AnUnknownOptionIsNamedBeforeTheOneThatIsMissing) {
  EXPECT_EQ(sentence(app_, {"run", "--stoer", "x"}),
            "there is no option --stoer: do you mean --store? (see prog run --help)");
  EXPECT_THAT(sentence(app_, {"run"}), HasSubstr("--store"));
}

TEST_F(UsageTest, HelpNamesCommandsBelowACommand) {
  EXPECT_THAT(app_.help(), HasSubstr("  table import|show"));
}

TEST_F(UsageTest, HelpHasWordsForValuesInPlaceOfTheLibrarys) {
  const std::string help = app_.get_subcommand("run")->help();
  for (const char* shown :
       {"--lines LINES ", "--threads N ", "--level info|warn ", "--plain WORD ", "--listen ADDR:PORT "})
    EXPECT_THAT(help, HasSubstr(shown));
  for (const char* leaked : {"TEXT", "INT", "POSITIVE", "SHELL"}) EXPECT_THAT(help, Not(HasSubstr(leaked)));
}

}  // namespace
}  // namespace nccl_env::program::usage_test
