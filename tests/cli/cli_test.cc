// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: help, wrong usage, files that cannot be read.
#include <filesystem>

#include "cli/cli_inputs.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli_test {
namespace {

using namespace nccl_env::tests;

TEST_F(Cli, HelpTeachesEveryCommandWithAnExample) {
  for (const std::string command :
       {"table import", "explain", "policy check", "doctor", "nodes", "verify", "what"}) {
    const CliResult result = run_cli(words(command + " --help"));
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("Example:\n  nccl-env " + words(command)[0])) << command;
  }
  EXPECT_THAT(run_cli({"policy", "check", "--help"}).out, HasSubstr("warnings alone exit 0"));
  const std::string help = run_cli({"explain", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("\n\nManifests and files:\n"));
  EXPECT_EQ(help.find("\n\n\n"), std::string::npos);
}

TEST_F(Cli, VersionIsTheProjects) {
  std::ifstream file(source_file("CMakeLists.txt"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("VERSION " + std::string(program::kVersion) + " "));
  EXPECT_EQ(run_cli({"--version"}).out, "nccl-env " + std::string(program::kVersion) + "\n");
}

TEST_F(Cli, AMisspeltWordIsNamedWithTheKnownOneThatItIsNear) {
  for (const char* line :
       {"docter", "frobnicate", "table improt x", "--verion", "doctor --otput json", "-o json doctor",
        "doctor -o YML", "what gidnotuform", "help explian", "variables --help", "table check --help"})
    expect_shown(run_cli(words(line)), 2);
}

// In the library's words, which differ from version to version.
TEST_F(Cli, OtherMistakesAreCode2WithTheHelpThatTellsMore) {
  for (const char* line : {"table", "table import", "verify pod/p --tail x", "explain pod a b"}) {
    const CliResult result = run_cli(words(line));
    EXPECT_EQ(result.code, 2) << line;
    EXPECT_THAT(result.err, EndsWith(" --help)\n")) << line;
  }
}

TEST_F(Cli, HelpIsThereInEveryWayThatPeopleAskForIt) {
  const std::string help = run_cli({"--help"}).out;
  EXPECT_THAT(help, HasSubstr("doctor"));
  const CliResult bare = run_cli({});
  EXPECT_EQ(bare.code, 2);
  EXPECT_EQ(bare.out, "");
  EXPECT_EQ(bare.err, help);
  EXPECT_EQ(run_cli({"help"}).out, help);
  EXPECT_EQ(run_cli({"help", "table", "import"}).out, run_cli({"table", "import", "--help"}).out);
  EXPECT_EQ(run_cli({"version"}).out, run_cli({"--version"}).out);
  EXPECT_EQ(run_cli({"-V"}).out, run_cli({"--version"}).out);
}

TEST_F(Cli, WrongUsageIsCode2AndPrintsNothingOnStdout) {
  const std::string both = "explain --policy " + policy + " -f " + pod;
  for (const std::string& line :
       {std::string("--frobnicate"), "explain --policy " + policy, both + " -o xml",
        both + " --nccl-version 1.0", both + " --at yesterday", "nodes gpu-1 --nccl-version 2.17 " + table,
        "nodes gpu-1 --env NOVALUE " + table, "nodes --env A=b " + table, std::string("table import -"),
        std::string("table import --node UP_per -"), std::string("what Nonsense"),
        std::string("bug-report train-0"), std::string("bug-report node/gpu-1")}) {
    const CliResult result = run_cli(words(line));
    EXPECT_EQ(result.out, "") << line;
    expect_shown(result, 2);
  }
}

TEST_F(Cli, AFileThatCannotBeReadIsNamedWithCode4) {
  const std::string absent = path("absent.yaml");
  for (const std::string& line :
       {"table import --node n " + absent, "doctor " + absent, "explain -f " + pod + " --policy " + absent,
        "explain --policy " + policy + " -f " + absent,
        "explain --policy " + policy + " -f " + pod + " --table " + absent, "nodes gpu-1 " + absent})
    expect_shown(run_cli(words(line)), 4);
  std::filesystem::create_directory(path("folder"));
  expect_shown(run_cli({"verify", path("folder")}), 4);
}

TEST_F(Cli, ANameInPlaceOfAFileIsToldTheCommandForIt) {
  for (const char* line : {"doctor gpu-17", "verify llama-worker-0"}) expect_shown(run_cli(words(line)), 4);
  expect_shown(run_cli({"explain", table}), 2);
}

TEST_F(Cli, UsageFollowsTheNameOfTheProgram) {
  std::istringstream in;
  std::ostringstream out, err;
  const char* const argv[] = {"/usr/bin/kubectl-nccl_env", "doctor", "--help"};
  EXPECT_EQ(cli::run_cli(3, argv, {in, out, err}), 0);
  EXPECT_THAT(out.str(), HasSubstr("Example:\n  kubectl nccl-env doctor"));
}

}  // namespace
}  // namespace nccl_env::cli_test
