// SPDX-License-Identifier: Apache-2.0
// The command line: forms of output, exit codes, and what is refused.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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
           {"nccl", "select", "--table", table, "--nccl-version", "2.99"},
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

TEST_F(Cli, ImportNamesTheNodeAfterTheFirstFile) {
  const CliResult result = run_cli({"table", "import", write("GPU_7.show_gids.txt", kListing)});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  name: gpu-7\n"));
}

TEST_F(Cli, ImportReadsTheStandardInputAndCountsWhatItSkips) {
  const CliResult result =
      run_cli({"table", "import", "--node", "n", "-o", "json", "-"}, "$ show_gids\n" + kListing);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["observed"]["ports"][0]["hca"], "mlx5_1");
  EXPECT_THAT(result.err, StartsWith("nccl-env: 1 line is of no listing and skipped\n"));
}

TEST_F(Cli, ARefusedImportNamesFileAndLineAndPrintsNoTable) {
  const std::string file = write("n.txt", kListing + "mlx5_1\t1\t4\tnot-a-gid\t\tv2\teth1\n");
  const CliResult result = run_cli({"table", "import", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith(file + ":4: "));
}

TEST_F(Cli, AnImportedTableIsReadBack) {
  const CliResult yaml =
      run_cli({"table", "import", "--node", "n", "--node-interface", "eth0", "-"}, kListing);
  const CliResult shown = run_cli({"table", "show", "-o", "json", "-"}, yaml.out);
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(Json::parse(shown.out)["nodeInterface"], "eth0");
  EXPECT_EQ(Json::parse(shown.out)["values"]["NCCL_IB_HCA"], "=mlx5_1");
}

TEST_F(Cli, ShowTellsWhyOfEachPortAndRow) {
  const CliResult result = run_cli({"table", "show", table});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("mlx5_0 port 1: fabric\n  Active, Ethernet, RoCE, 200 Gb/s, netdev eth1\n"));
  EXPECT_THAT(result.out, HasSubstr("eth1    no: link-local\n"));
  EXPECT_THAT(result.out, HasSubstr("25.11.128.2  eth1    yes\n"));
  EXPECT_THAT(result.out, HasSubstr("  NCCL_IB_HCA        =mlx5_0\n  NCCL_IB_GID_INDEX  3\n"));
}

TEST_F(Cli, ShowAppliesThePolicysConditions) {
  const std::string strict = write("strict.yaml", kPolicy + "  fabric: {hcas: [mlx5_7]}\n");
  const CliResult text = run_cli({"table", "show", "--policy", strict, table});
  EXPECT_THAT(text.out, HasSubstr("not fabric, not known to match what the policy names"));
  const Json json = Json::parse(run_cli({"table", "show", "--policy", strict, "-o", "json", table}).out);
  EXPECT_EQ(json["ports"][0]["fabric"], false);
  EXPECT_EQ(json["ports"][0]["gids"][0]["usable"], false);
  EXPECT_EQ(json["omitted"][0]["reason"], "NoFabricPort");
}

TEST_F(Cli, ATableWithoutPortsIsCode3) {
  const std::string empty =
      write("empty.yaml", named(kTable, kTable.substr(kTable.find("  ports:")), "  ports: []\n"));
  EXPECT_EQ(run_cli({"table", "show", empty}).code, 3);
  EXPECT_EQ(run_cli({"nccl", "select", "--table", empty}).code, 3);
}

TEST_F(Cli, APastedListingIsNotATableAndTheImportIsNamed) {
  const CliResult result = run_cli({"table", "show", write("gids.txt", kListing)});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("nccl-env table import "));
}

TEST_F(Cli, NcclSelectAppliesTheGivenEnvironment) {
  const CliResult all =
      run_cli({"nccl", "select", "--table", table, "--nccl-version", "2.21.5", "-o", "json"});
  EXPECT_EQ(Json::parse(all.out)["hcas"], Json({"mlx5_0:1"}));
  EXPECT_EQ(Json::parse(all.out)["gidIndex"], Json({{"mlx5_0:1", 3}}));
  const CliResult none = run_cli({"nccl", "select", "--table", table, "--env", "NCCL_IB_HCA=^=mlx5_0",
                                  "--env", "NCCL_DEBUG=INFO", "-o", "json"});
  EXPECT_THAT(Json::parse(none.out)["hcas"], IsEmpty());
  EXPECT_THAT(run_cli({"nccl", "select", "--table", table, "--nccl-version", "2.18.3"}).out,
              StartsWith("NCCL 2.18.3 on gpu-1\n  HCAs        mlx5_0:1\n"));
}

TEST_F(Cli, PolicyCheckIsSilentAboutGoodPolicies) {
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "nccl-env: policies: 1, errors: 0, warnings: 0\n");
}

TEST_F(Cli, PolicyCheckNamesFilePolicyAndPathOfEachFinding) {
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n  frobnicate: 1\n");
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr(policy + ": p: error: spec.env.NCCL_IB_TIMEOUT: "));
  EXPECT_THAT(result.out, HasSubstr(policy + ": p: error: spec.frobnicate: "));
}

TEST_F(Cli, WarningsAloneAreCode0) {
  write("p.yaml", kPolicy + "  env: {NCCL_FROBNICATE: \"1\"}\n");
  const CliResult result = run_cli({"policy", "check", policy});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr(": p: warning: spec.env.NCCL_FROBNICATE: "));
}

TEST_F(Cli, PluginsNeedTheirOwnFlag) {
  write("p.yaml", kPolicy + "  env: {NCCL_NET_PLUGIN: foo}\n");
  EXPECT_EQ(run_cli({"policy", "check", policy}).code, 1);
  EXPECT_EQ(run_cli({"policy", "check", "--allow-code-paths", policy}).code, 0);
}

TEST_F(Cli, AFileWithoutAPolicyOrUnreadableIsAFinding) {
  const CliResult other = run_cli({"policy", "check", table});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("holds no NcclPolicy"));
  const CliResult absent = run_cli({"policy", "check", path("absent"), policy});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.out, HasSubstr("No such file"));
}

TEST_F(Cli, APolicyNameGivenTwiceIsAFinding) {
  const CliResult result = run_cli({"policy", "check", policy, write("again.yaml", kPolicy)});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("given twice"));
}

TEST_F(Cli, TheProjectsPoliciesHaveNoErrors) {
  for (const auto& entry : std::filesystem::directory_iterator(source_file("policies")))
    EXPECT_EQ(run_cli({"policy", "check", entry.path().string()}).code, 0) << entry.path();
}

TEST_F(Cli, ReasonsAreToldWithTheirRemedy) {
  const CliResult one = run_cli({"reasons", "GidNotUniform"});
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, AllOf(StartsWith("GidNotUniform  "), Not(HasSubstr("NoTable"))));
  EXPECT_THAT(run_cli({"reasons"}).out, HasSubstr("NoTable"));
}

}  // namespace
}  // namespace nccl_env::cli_test
