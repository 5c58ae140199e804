// SPDX-License-Identifier: Apache-2.0
// The command line: forms of output, exit codes, and what is refused.
#include <gmock/gmock.h>

#include "cli_run.h"

namespace nccl_env {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kTable = R"(
apiVersion: nccl-env.io/v1alpha1
kind: NodeFabric
metadata: {name: gpu-1}
observed:
  nodeInterface: eth0
  ports:
  - hca: mlx5_0
    port: 1
    linkLayer: Ethernet
    transport: RoCE
    state: Active
    rateGbps: 200
    gids:
    - {index: 0, gid: "fe80::1", type: RoCEv2, netdev: eth1}
    - {index: 3, gid: "::ffff:25.11.128.2", type: RoCEv2, address: 25.11.128.2, netdev: eth1}
)";
const std::string kPolicy = R"(
apiVersion: nccl-env.io/v1alpha1
kind: NcclPolicy
metadata: {name: p}
spec:
  match: {resources: [{name: rdma/hca}]}
)";
const std::string kPod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"},
  "spec": {"hostNetwork": true, "containers": [{"name": "c", "resources": {"limits": {"rdma/hca": 1}}}]}})";
const std::string kListing =
    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV\n"
    "---\t----\t-----\t---\t\t\t\t\t----\t\t---\t---\n"
    "mlx5_1\t1\t3\t0000:0000:0000:0000:0000:ffff:190b:8002\t25.11.128.2\tv2\teth1\n";

std::string named(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

class Cli : public CliTest {
 protected:
  const std::string table = write("gpu-1.yaml", kTable);
  const std::string policy = write("p.yaml", kPolicy);
  const std::string pod = write("pod.yaml", kPod);

  CliResult explain(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"explain", "--policy", policy, "--pod", pod};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_cli(arguments);
  }
  Json explain_json(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"-o", "json"});
    const CliResult result = explain(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  }
};

TEST_F(Cli, HelpTeachesEveryCommandWithAnExample) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"table", "import"},
                                                                                       {"table", "show"},
                                                                                       {"explain"},
                                                                                       {"nccl", "select"},
                                                                                       {"policy", "check"},
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
           {"explain", "--policy", policy, "--pod", pod, "-o", "xml"},
           {"explain", "--policy", policy, "--pod", pod, "--nccl-version", "1.0"},
           {"explain", "--policy", policy, "--pod", pod, "--at", "yesterday"},
           {"nccl", "select", "--table", table, "--nccl-version", "2.99"},
           {"nccl", "select", "--table", table, "--env", "NOVALUE"},
           {"table", "import", "-"},
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

TEST_F(Cli, ExplainTakesTheOnlyTablesNode) {
  const Json json = explain_json({"--table", table});
  EXPECT_EQ(json["node"], "gpu-1");
  EXPECT_EQ(json["object"], "Pod/train");
  EXPECT_EQ(json["containers"][0]["env"][0],
            Json({{"name", "NCCL_IB_HCA"}, {"value", "=mlx5_0"}, {"source", "Node"}}));
  EXPECT_EQ(json["ncclWithUs"]["gidIndex"], Json({{"mlx5_0:1", 3}}));
}

TEST_F(Cli, ExplainWithoutATableLeavesNodeValuesToBinding) {
  const Json json = explain_json();
  EXPECT_TRUE(json["node"].is_null());
  EXPECT_EQ(json["containers"][0]["env"][0],
            Json({{"name", "NCCL_IB_HCA"}, {"value", nullptr}, {"source", "Binding"}}));
}

TEST_F(Cli, SeveralTablesNeedANode) {
  const std::string both = write("both.yaml", kTable + "---" + named(kTable, "gpu-1", "gpu-2"));
  const CliResult none = explain({"--table", both});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("gpu-1, gpu-2"));
  EXPECT_EQ(explain_json({"--table", both, "--node", "gpu-2"})["node"], "gpu-2");
}

TEST_F(Cli, TheSameNodeInTwoFilesIsRefused) {
  const CliResult result = explain({"--table", table, write("again.yaml", kTable)});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("gpu-1 is given twice"));
}

TEST_F(Cli, ThePodsOwnNodeBeatsTheCommandLine) {
  write("pod.yaml", named(kPod, "\"hostNetwork\"", "\"nodeName\": \"gpu-1\", \"hostNetwork\""));
  EXPECT_EQ(explain_json({"--table", table, "--node", "gpu-9"})["node"], "gpu-1");
}

TEST_F(Cli, ANodeWithoutATableIsNoTable) {
  const Json json = explain_json({"--table", table, "--node", "gpu-9"});
  EXPECT_EQ(json["containers"][0]["omitted"][0]["reason"], "NoTable");
  EXPECT_TRUE(json["ncclAlone"].is_null());
}

TEST_F(Cli, TheMomentDecidesWhetherATableIsStale) {
  const std::string old =
      write("old.yaml", named(kTable, "observed:\n", "observed:\n  time: \"2026-11-20T08:00:00Z\"\n"));
  const Json fresh = explain_json({"--table", old, "--at", "2026-11-20T09:00:00Z"});
  EXPECT_EQ(fresh["containers"][0]["env"][0]["source"], "Node");
  const Json stale = explain_json({"--table", old, "--at", "2026-11-20T12:00:00Z"});
  EXPECT_EQ(stale["containers"][0]["omitted"][0]["reason"], "StaleTable");
}

TEST_F(Cli, ExplainReadsARecordedReview) {
  write(
      "pod.yaml",
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "object": )" +
          kPod + R"(, "oldObject": )" + kPod + "}}");
  EXPECT_EQ(explain_json()["template"], "request.object");
}

TEST_F(Cli, SeveralTemplatesGiveAList) {
  write("pod.yaml", R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  replicatedJobs:
  - {name: a, template: {spec: {template: {spec: {containers: [{name: c}]}}}}}
  - {name: b, template: {spec: {template: {spec: {containers: [{name: c, resources: {limits: {rdma/hca: 1}}}]}}}}}
)");
  const Json json = explain_json();
  ASSERT_THAT(json, SizeIs(2));
  EXPECT_EQ(json[0]["object"], "JobSet/js");
  EXPECT_EQ(json[0]["template"], "spec.replicatedJobs[0].template.spec.template");
  EXPECT_EQ(json[0]["reason"], "NotRdma");
  EXPECT_EQ(json[1]["decision"], "inject");
}

TEST_F(Cli, AnObjectWithoutPodsIsRefused) {
  write("pod.yaml", R"({"kind": "ConfigMap", "data": {"a": "b"}})");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("spec.containers"));
}

TEST_F(Cli, APodWithAFieldOfTheWrongTypeIsRefusedWithItsPath) {
  write("pod.yaml", R"({"kind": "Pod", "spec": {"containers": [{"name": 7}]}})");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("spec.containers[0].name"));
}

TEST_F(Cli, EndlessNestingIsNoPod) {
  std::string nested = R"({"kind": "Pod", "spec": {"containers": []}})";
  for (int i = 0; i < 40; ++i) nested = R"({"a": )" + nested + "}";
  write("pod.yaml", nested);
  EXPECT_EQ(explain().code, 1);
}

TEST_F(Cli, ExplainPrintsEnvLines) {
  EXPECT_EQ(explain({"--table", table, "-o", "env"}).out, "NCCL_IB_HCA==mlx5_0\nNCCL_IB_GID_INDEX=3\n");
}

TEST_F(Cli, ExplainPrintsTextForPeople) {
  const CliResult result = explain({"--table", table});
  EXPECT_THAT(
      result.out,
      StartsWith("Pod/train\n  decision  inject\n  policy    p\n  exposure  Host\n  node      gpu-1\n"));
}

TEST_F(Cli, SeveralPoliciesNeedAName) {
  write("p.yaml", kPolicy + "---" + named(kPolicy, "name: p}", "name: q}"));
  const CliResult none = explain();
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("p, q"));
  EXPECT_EQ(explain_json({"--policy-name", "q"})["policy"], "q");
}

TEST_F(Cli, ARefusedPolicyExplainsNothing) {
  write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"99\"}\n");
  const CliResult result = explain();
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("NCCL_IB_TIMEOUT"));
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

TEST_F(Cli, NothingThatATerminalWouldObeyGetsThrough) {
  write("pod.yaml", named(kPod, "\"name\": \"c\"", "\"name\": \"c\\u001b[31m\""));
  EXPECT_EQ(explain({"--table", table}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace nccl_env
