// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: help, wrong usage, files that cannot be read.
#include <gmock/gmock.h>

#include <filesystem>

#include "cli/cli_inputs.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Cli, HelpTeachesEveryCommandWithAnExample) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"table", "import"},
                                                                                       {"table", "show"},
                                                                                       {"explain"},
                                                                                       {"nccl", "select"},
                                                                                       {"policy", "check"},
                                                                                       {"doctor"},
                                                                                       {"nodes"},
                                                                                       {"verify"},
                                                                                       {"reasons"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("Example:\n  nccl-env " + command.front())) << command.back();
  }
  EXPECT_THAT(run_cli({"policy", "check", "--help"}).out, HasSubstr("warnings alone exit 0"));
}

TEST_F(Cli, HelpPutsOptionsIntoGroupsWithALineBetweenThem) {
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
  const auto problem = [](std::vector<std::string> arguments) {
    const CliResult result = run_cli(std::move(arguments));
    EXPECT_EQ(result.code, 2);
    return result.err;
  };
  EXPECT_EQ(problem({"docter"}),
            "nccl-env: there is no command docter: do you mean doctor? (see nccl-env --help)\n");
  EXPECT_THAT(problem({"frobnicate"}), HasSubstr("there is no command frobnicate, only explain, verify, "));
  EXPECT_EQ(problem({"table", "improt", "x"}),
            "nccl-env: there is no command improt: do you mean import? (see nccl-env table --help)\n");
  EXPECT_EQ(problem({"table"}),
            "nccl-env: nccl-env table needs one of: import, show (see nccl-env table --help)\n");
  EXPECT_EQ(problem({"--verion"}),
            "nccl-env: there is no option --verion: do you mean --version? (see nccl-env --help)\n");
  EXPECT_EQ(problem({"doctor", "--otput", "json"}),
            "nccl-env: there is no option --otput: do you mean --output? (see nccl-env doctor "
            "--help)\n");
  EXPECT_EQ(
      problem({"-o", "json", "doctor"}),
      "nccl-env: -o belongs to a command and stands behind it: nccl-env COMMAND -o (see nccl-env --help)\n");
  EXPECT_EQ(problem({"doctor", "-o", "YML"}),
            "nccl-env: --output: YML not in {text,json,yaml}: do you mean yaml? (see nccl-env doctor "
            "--help)\n");
  EXPECT_THAT(problem({"table", "import"}), HasSubstr("(see nccl-env table import --help)"));
  EXPECT_EQ(problem({"reasons", "gidnotuform"}),
            "nccl-env: reasons: there is no reason gidnotuform: do you mean GidNotUniform?\n");
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
  EXPECT_THAT(run_cli({"help", "explian"}).err, HasSubstr("do you mean explain?"));
  EXPECT_EQ(run_cli({"version"}).out, run_cli({"--version"}).out);
  EXPECT_EQ(run_cli({"-V"}).out, run_cli({"--version"}).out);
}

TEST_F(Cli, WrongUsageIsCode2AndPrintsNothingOnStdout) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"table"},
           {"frobnicate"},
           {"--frobnicate"},
           {"explain", "--policy", policy},
           {"explain", "--review", pod},
           {"explain", "--review", pod, "--store", "dir:.", "--pod", pod},
           {"explain", "--policy", policy, "--pod", pod, "--store", "dir:."},
           {"explain", "--policy", policy, "--pod", pod, "-o", "xml"},
           {"explain", "--policy", policy, "--pod", pod, "--nccl-version", "1.0"},
           {"explain", "--policy", policy, "--pod", pod, "--at", "yesterday"},
           {"nccl", "select", "--table", table, "--nccl-version", "2.17"},
           {"nccl", "select", "--table", table, "--env", "NOVALUE"},
           {"table", "import", "-"},
           {"table", "import", "--node", "UP_per", "-"},
           {"reasons", "Nothing"}}) {
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "") << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("nccl-env: ")) << ::testing::PrintToString(arguments);
  }
}

TEST_F(Cli, AFileThatCannotBeReadIsNamedWithCode4) {
  const std::string absent = path("absent.yaml");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"table", "import", "--node", "n", absent},
                                             {"table", "show", absent},
                                             {"explain", "--policy", absent, "--pod", pod},
                                             {"explain", "--policy", policy, "--pod", absent},
                                             {"explain", "--policy", policy, "--pod", pod, "--table", absent},
                                             {"nccl", "select", "--table", absent}}) {
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.err, AllOf(HasSubstr(absent), HasSubstr("No such file")));
  }
  std::filesystem::create_directory(path("folder"));
  const std::string is_folder = path("folder") + ": Is a directory\n";
  EXPECT_THAT(run_cli({"policy", "check", path("folder")}).out, HasSubstr(is_folder));
  EXPECT_THAT(run_cli({"verify", path("folder")}).err, HasSubstr(is_folder));
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
