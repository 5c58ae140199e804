// SPDX-License-Identifier: Apache-2.0
// Completion of command lines: real shells take the scripts.
#include "cli/cli_run.h"
#include "support/child.h"
#include "support/places.h"

namespace nccl_env::completion_test {
namespace {

using namespace nccl_env::tests;

// Bash's own completion of that line, whose last word the cursor is behind.
std::string bash(const std::string& words, int at) {
  const std::string script = "PATH=" + tests::in_build("/bin") +
                             ":$PATH; source <(nccl-env completion bash); COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(at) + "; _nccl_env; echo \"${COMPREPLY[*]}\"";
  const CommandResult result = run_command({"bash", "--norc", "-uc", script});
  EXPECT_EQ(result.code, 0);
  return result.output;
}

TEST(Completion, BashTakesIt) {
  EXPECT_THAT(bash("nccl-env ''", 1),
              AllOf(HasSubstr("explain"), HasSubstr("completion"), Not(HasSubstr("--"))));
  EXPECT_EQ(bash("nccl-env table ''", 2), "import\n");
  EXPECT_EQ(bash("nccl-env policy te", 2), "test\n");
  EXPECT_EQ(bash("nccl-env verify --prev", 2), "--previous\n");
  EXPECT_EQ(bash("nccl-env verify pod/a --prev", 3), "--previous\n");
  EXPECT_EQ(bash("nccl-env --ver", 1), "--version\n");
  EXPECT_EQ(bash("nccl-env verify ''", 2), "\n") << "files";
}

TEST(Completion, ZshTakesIt) {
  const std::string script = "PATH=" + tests::in_build("/bin") +
                             ":$PATH; compdef() { : }; source <(nccl-env completion zsh) && echo taken";
  EXPECT_EQ(run_command({"zsh", "-f", "-c", script}).output, "taken\n");
}

TEST(Completion, FishTakesIt) {
  const auto fish = [](const std::string& line) {
    return run_command({"fish", "--no-config", "-c",
                        "set -x PATH " + tests::in_build("/bin") +
                            " $PATH; nccl-env completion fish | source; complete -C '" + line + "'"})
        .output;
  };
  EXPECT_EQ(fish("nccl-env table im"), "import\n");
  EXPECT_EQ(fish("nccl-env verify --prev"), "--previous\n");
  EXPECT_EQ(fish("nccl-env verif"), "verify\n");
}

TEST(Completion, AnotherShellIsCode2) {
  EXPECT_EQ(run_cli({"completion", "csh"}).code, 2);
  EXPECT_EQ(run_cli({"completion"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::completion_test
