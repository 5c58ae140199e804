// SPDX-License-Identifier: Apache-2.0
// Completion of command lines: what the program offers, and that real shells take it.
#include <gmock/gmock.h>

#include "cli/cli_run.h"
#include "support/child.h"
#include "support/places.h"

namespace nccl_env::completion_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string completed(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const CliResult result = run_cli(words);
  EXPECT_EQ(result.code, 0);
  return result.out;
}

TEST(Completion, CommandsComeWithTheirFirstSentence) {
  EXPECT_THAT(completed({""}), AllOf(HasSubstr("table\tTables of a node's HCAs"), HasSubstr("\nverify\t"),
                                     HasSubstr(":4\n"), Not(HasSubstr("__complete"))));
  EXPECT_EQ(completed({"table", "im"}), completed({"table", "imp"}));
  EXPECT_THAT(completed({"table", "im"}), StartsWith("import\tTurn what show_gids"));
  EXPECT_EQ(completed({"tables"}), ":4\n");
  EXPECT_EQ(completed({}), completed({""}));
}

TEST(Completion, OptionsAreThoseOfTheCommand) {
  EXPECT_THAT(completed({"verify", "--conta"}), StartsWith("--container\tContainer whose values count"));
  EXPECT_THAT(completed({"verify", "--"}),
              AllOf(HasSubstr("--help"), HasSubstr("--previous"), HasSubstr("--tail")));
  EXPECT_THAT(completed({"verify", "--"}), Not(HasSubstr("--store")));
}

TEST(Completion, ChoicesOfAnOptionAreItsValues) {
  EXPECT_EQ(completed({"nodes", "-o", ""}), "text\nwide\njson\nyaml\n:4\n");
  EXPECT_EQ(completed({"nodes", "--output", "w"}), "wide\n:4\n");
  EXPECT_EQ(completed({"nodes", "--output=j"}), "--output=json\n:4\n");
  EXPECT_EQ(completed({"nodes", "--output", "=", "j"}), "json\n:4\n") << "as bash cuts words";
  EXPECT_EQ(completed({"nodes", "--output", "="}), "text\nwide\njson\nyaml\n:4\n");
  EXPECT_EQ(completed({"completion", ""}), "bash\nzsh\nfish\n:4\n");
}

TEST(Completion, FilesServeWhereTheyAreMeant) {
  EXPECT_EQ(completed({"table", "show", "--policy", ""}), ":0\n");
  EXPECT_EQ(completed({"table", "show", "a.yaml", ""}), ":0\n") << "several";
  EXPECT_EQ(completed({"verify", ""}), ":0\n");
  EXPECT_EQ(completed({"verify", "a.log", ""}), ":0\n") << "the ranks of a job";
  EXPECT_EQ(completed({"explain", "--node", ""}), ":4\n");
}

TEST(Completion, JunkHasNoCandidates) {
  EXPECT_EQ(completed({"--no-such=x", "nor this", "--", "-"}), ":4\n");
  EXPECT_EQ(completed({"=", "=", "="}), completed({""}));
  EXPECT_EQ(completed({std::string(1 << 16, '-')}), ":4\n");
}

std::string program(const std::string& name) {
  return tests::in_build("/bin/" + name);
}

// Bash's own completion of that line, whose last word the cursor is behind.
std::string bash(const std::string& words, int at) {
  const std::string script = "PATH=" + tests::in_build("/bin") +
                             ":$PATH; source <(nccl-env completion bash); COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(at) + "; _nccl_env; echo \"${COMPREPLY[*]}\"";
  const CommandResult result = run_command({"bash", "--norc", "-c", script});
  EXPECT_EQ(result.code, 0);
  return result.output;
}

TEST(Completion, BashTakesIt) {
  EXPECT_EQ(bash("nccl-env table ''", 2), "import show\n");
  EXPECT_EQ(bash("nccl-env verify --prev", 2), "--previous\n");
  EXPECT_EQ(bash("nccl-env nodes --output = wi", 4), "wide\n");
  const CommandResult known =
      run_command({"bash", "--norc", "-c",
                   "source <(" + program("nccl-env") + " completion bash); complete -p nccl-env"});
  EXPECT_THAT(known.output, HasSubstr("-F _nccl_env nccl-env"));
}

// With zsh's own functions left out that need a terminal.
TEST(Completion, ZshTakesIt) {
  const std::string script =
      "PATH=" + tests::in_build("/bin") +
      ":$PATH; compdef() { : }; _files() { print files }; _describe() { print -l ${(P)3} }; "
      "source <(nccl-env completion zsh); words=(\"$argv[@]\"); CURRENT=$#words; _nccl_env";
  const auto zsh = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"zsh", "-f", "-c", script, "zsh"});
    return run_command(words);
  };
  EXPECT_EQ(zsh({"nccl-env", "nodes", "-o", "w"}).output, "wide\n");
  EXPECT_THAT(zsh({"nccl-env", "table", "im"}).output, StartsWith("import:Turn what show_gids"));
  EXPECT_EQ(zsh({"nccl-env", "verify", ""}).output, "files\n");
}

TEST(Completion, FishTakesIt) {
  const auto fish = [](const std::string& line) {
    return run_command({"fish", "--no-config", "-c",
                        "set -x PATH " + tests::in_build("/bin") +
                            " $PATH; nccl-env completion "
                            "fish | source; complete -C '" +
                            line + "'"});
  };
  EXPECT_EQ(fish("nccl-env nodes -o w").output, "wide\n");
  EXPECT_THAT(fish("nccl-env table im").output, StartsWith("import\tTurn what show_gids"));
}

TEST(Completion, KubectlAsksAProgramOfThatName) {
  const CommandResult result = run_command({program("kubectl_complete-nccl_env"), "policy", ""});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, AllOf(StartsWith("check\t"), HasSubstr("\n:4\n")));
}

TEST(Completion, EachShellHasItsScript) {
  EXPECT_THAT(run_cli({"completion", "zsh"}).out, StartsWith("#compdef nccl-env\n"));
  EXPECT_THAT(run_cli({"completion", "fish"}).out, HasSubstr("complete -c nccl-env"));
  EXPECT_EQ(run_cli({"completion", "csh"}).code, 2);
  EXPECT_EQ(run_cli({"completion"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::completion_test
