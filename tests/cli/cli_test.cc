// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: help, wrong usage, files that cannot be read.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli_test {
namespace {

using namespace nccl_env::testing;
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

TEST_F(Cli, VersionIsTheProjects) {
  std::ifstream file(source_file("CMakeLists.txt"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("VERSION " + std::string(app::kVersion) + " "));
  EXPECT_EQ(run_cli({"--version"}).out, "nccl-env " + std::string(app::kVersion) + "\n");
}

TEST_F(Cli, WrongUsageIsCode2AndPrintsNothingOnStdout) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
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

TEST_F(Cli, AFileThatCannotBeReadIsNamedWithCode1) {
  const std::string absent = path("absent.yaml");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"table", "import", "--node", "n", absent},
                                             {"table", "show", absent},
                                             {"explain", "--policy", absent, "--pod", pod},
                                             {"explain", "--policy", policy, "--pod", absent},
                                             {"explain", "--policy", policy, "--pod", pod, "--table", absent},
                                             {"nccl", "select", "--table", absent}}) {
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr(absent), HasSubstr("No such file")));
  }
}

TEST_F(Cli, UsageFollowsTheNameOfTheProgram) {
  std::istringstream in;
  std::ostringstream out, err;
  const char* const argv[] = {"/usr/bin/kubectl-nccl_env", "doctor", "--help"};
  EXPECT_EQ(app::run_cli(3, argv, {in, out, err}), 0);
  EXPECT_THAT(out.str(), HasSubstr("Example:\n  kubectl nccl-env doctor"));
}

}  // namespace
}  // namespace nccl_env::cli_test
