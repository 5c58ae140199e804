// SPDX-License-Identifier: Apache-2.0
// nccl-env-agent show and resolve, over a copy of sysfs.
#include "agent.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>

#include "cli/cli_inputs.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/fabric/node_table.h"
#include "node/scripted_verbs.h"
#include "node/sysfs_tree.h"
#include "packets/fake_fabric.h"
#include "support/child.h"
#include "support/matchers.h"
#include "support/places.h"

namespace nccl_env::tests::agent_test {
namespace {

const std::string kFilePolicy =
    R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p"},
  "spec": {"match": {"resources": [{"name": "rdma/hca"}]}, "gidIndex": "Pin", "delivery": ["File"], "env": {"NCCL_IB_TIMEOUT": "22"}}})";

class Agent : public CliTest {
 protected:
  Agent() {
    SysfsTree tree;
    for (const char* n : {"1", "2"}) {
      const std::string number(n);
      add_hca(tree, {.name = "mlx5_" + number,
                     .pci = "0000:5" + number + ":00.0",
                     .netdev = "eth" + number,
                     .rows = usual_tree_rows("25.11." + number + ".2", "eth" + number)});
    }
    tree.write_to(path("sys"));
    std::filesystem::create_directories(path("empty"));
    ::unsetenv("NCCL_ENV_POLICY");
  }

  CliResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "nccl-env-agent");
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    std::istringstream in;
    std::ostringstream out, err;
    const int code =
        agent::run_agent(static_cast<int>(argv.size()), argv.data(), verbs_, packets_, {in, out, err});
    return {code, out.str(), err.str(), {}};
  }
  CliResult show(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"show", "--node-name", "gpu-1", "--sysfs", path("sys")});
    return run(more);
  }
  CliResult resolve(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"resolve", "--sysfs", path("sys"), "--out", path("nccl.conf"),
                               "--termination-log", path("message")});
    return run(more);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path(name));
    std::stringstream all;
    all << file.rdbuf();
    return file ? all.str() : "absent";
  }

  ScriptedVerbs verbs_;
  FakeFabric fabric_;
  const packets::MakeQueuePair packets_ = fabric_.make_of("gpu-1");
};

TEST_F(Agent, ShowTellsPortsRowsAndVerdicts) {
  const CliResult result = show();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mlx5_1 port 1: fabric"), HasSubstr("25.11.2.2"),
                                HasSubstr("NCCL_IB_HCA        =mlx5_1,mlx5_2"),
                                HasSubstr("NCCL_IB_GID_INDEX  3"), HasSubstr("0000:51:00.0")));
}

TEST_F(Agent, ShowAsJsonAndYamlIsTheNodeFabric) {
  const auto json = nlohmann::json::parse(show({"-o", "json"}).out);
  const auto table = parse_node_fabric(json);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->name, "gpu-1");
  EXPECT_EQ(table->ports.size(), 2u);
  EXPECT_EQ(json["observed"]["summary"]["hcas"], "=mlx5_1,mlx5_2");
  const auto yaml = parse_documents(show({"-o", "yaml"}).out, "x.yaml");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(yaml->front()["observed"]["ports"], json["observed"]["ports"]);
}

TEST_F(Agent, ShowByAPolicy) {
  const std::string policy = write("p.yaml", named(kPolicy, "match:", "fabric: {hcas: [mlx5_2]}\n  match:"));
  const CliResult result = show({"--policy", policy});
  EXPECT_THAT(result.out, AllOf(HasSubstr("mlx5_1 port 1: not fabric"), HasSubstr("=mlx5_2")));
  EXPECT_EQ(nlohmann::json::parse(show({"--policy", policy, "-o", "json"}).out)["values"]["NCCL_IB_HCA"],
            "=mlx5_2");
  const CliResult absent = show({"--policy", path("absent.yaml")});
  EXPECT_EQ(absent.code, 4);
  EXPECT_THAT(absent.err, StartsWith("nccl-env-agent: " + path("absent.yaml")));
}

TEST_F(Agent, HelpNamesTheExitCodesThatThereAre) {
  const std::pair<const char*, const char*> codes[] = {{"show", "4 --policy"}, {"resolve", "4 --out"}};
  for (const auto& [command, code] : codes) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run({command, "--help"}).code, 0);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr(code));
  }
  // A file that is missing would keep the container from starting: the kubelet has to try again.
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"resolve", "--out", path("absent/nccl.conf")},
        {"resolve", "--out", path("nccl.conf"), "--table", path("absent.yaml")}}) {
    const CliResult result = run(arguments);
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.err, AllOf(StartsWith("nccl-env-agent: "), HasSubstr(path("absent"))));
  }
}

TEST_F(Agent, OnlyRunTellsWrongUsageAsALog) {
  const auto told = [&](const std::vector<std::string>& arguments) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(run(arguments).code, 2);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told({}), ::testing::EndsWith(" (see nccl-env-agent --help)\n"));
  EXPECT_EQ(told({"shwo"}),
            "nccl-env-agent: there is no command shwo: do you mean show? (see nccl-env-agent --help)\n");
  EXPECT_THAT(told({"run"}), StartsWith("{"));
}

TEST_F(Agent, ShowWithoutDevicesIsThree) {
  const CliResult result = run({"show", "--sysfs", path("empty"), "-o", "json"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("no RDMA devices"));
  EXPECT_TRUE(parse_node_fabric(nlohmann::json::parse(result.out)));
}

TEST_F(Agent, ShowNamesWhatItCouldNotRead) {
  std::ofstream(path("sys/devices/pci0000:50/0000:51:00.0/infiniband/mlx5_1/ports/1/state")) << "9\x01: ?\n";
  std::filesystem::remove(path("sys/class/infiniband/mlx5_1/ports/1/state"));
  const CliResult result = show();
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("nccl-env-agent: mlx5_1 ports/1/state"));
}

TEST_F(Agent, UsageIsTwo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{},
        {"show", "--nope"},
        {"show", "-o", "xml"},
        {"show", "--sysfs", path("absent")},
        {"show", "--node-name", "A_B"},
        {"resolve"},
        {"resolve", "--out", path("nccl.conf"), "--read-seconds", "nan"},
        {"resolve", "--out", path("nccl.conf"), "--read-seconds", "601"},
        {"run"},
        {"run", "--node-name", "n"},
        {"run", "--node-name", "n", "--store", "etcd"},
        {"run", "--node-name", "n", "--store", "dir:/x", "--refresh", "0"},
        {"run", "--node-name", "n", "--store", "dir:/x", "--node-labels", "zone,a b"},
        {"run", "--node-name", "n", "--store", "dir:/x", "--node-labels",
         "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"},
        {"run", "--node-name", "n", "--store", "dir:/x", "--node-ip", "1.2.3"}})
    EXPECT_EQ(run(arguments).code, 2) << ::testing::PrintToString(arguments);
}

TEST_F(Agent, ResolveWritesTheFile) {
  ::setenv("NCCL_ENV_POLICY", kFilePolicy.c_str(), 1);
  write("message", "old");
  const CliResult result = resolve({"--strict"});
  EXPECT_EQ(result.code, 0) << result.out;
  const std::string expected = "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_TIMEOUT=22\n";
  EXPECT_EQ(text("nccl.conf"), expected);
  EXPECT_EQ(result.out, expected);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  const std::string bytes = limit.rlim_cur == RLIM_INFINITY ? "-1" : std::to_string(limit.rlim_cur);
  EXPECT_EQ(text("message"), R"({"v":1}
{"memoryLock":)" + bytes + R"(}
{"set":"NCCL_IB_GID_INDEX","to":"3"}
{"set":"NCCL_IB_HCA","to":"=mlx5_1,mlx5_2"}
{"set":"NCCL_IB_TIMEOUT","to":"22"}
)");
  struct stat status {};
  ASSERT_EQ(::stat(path("nccl.conf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

// Asked elsewhere, it says what that pod would get.
TEST_F(Agent, ResolveTakesATableInPlaceOfDevices) {
  ::setenv("NCCL_ENV_POLICY", kFilePolicy.c_str(), 1);
  write("pod.yaml", show({"-o", "yaml"}).out);
  const std::vector<std::string> arguments{"resolve", "--table",         path("pod.yaml"),
                                           "--out",   path("nccl.conf"), "--strict"};
  const CliResult result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(text("nccl.conf"), "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_TIMEOUT=22\n");
  write("pod.yaml", "kind: Pod\n");
  EXPECT_EQ(run(arguments).code, 4);
}

// They are the node's, and come by name from the annotations of the Binding.
TEST_F(Agent, ResolveTakesTheConstantsOfItsNodeFromItsEnvironment) {
  ::setenv("NCCL_ENV_POLICY",
           named(kFilePolicy, R"("env": {)",
                 R"("variants": [{"when": {"minRateGbps": 800}, "env": {"NCCL_IB_TC": "96"}}],
                    "env": {"NCCL_IB_TC": "41", )")
               .c_str(),
           1);
  ::setenv("NCCL_ENV_CONF", "NCCL_IB_TC=96\n", 1);
  resolve({});
  EXPECT_THAT(text("nccl.conf"), HasSubstr("NCCL_IB_TC=96\n"));
  EXPECT_EQ(text("message"), "absent") << "only the kubelet makes it";
  ::setenv("NCCL_ENV_CONF", "NCCL_IB_SL=1\n", 1);  // the node has none
  resolve({});
  EXPECT_THAT(text("nccl.conf"), Not(HasSubstr("NCCL_IB_TC")));
  ::unsetenv("NCCL_ENV_CONF");
}

// Fabric and interface of the node's kind come the same way; without a word of them there is no list.
TEST_F(Agent, ResolveTakesTheRulesOfItsNodeFromItsEnvironment) {
  ::setenv("NCCL_ENV_POLICY",
           named(kFilePolicy, R"("env": {)",
                 R"("variants": [{"when": {"nodeLabels": {"shape": "a"}}, "fabric": {"hcas": ["mlx5_2"]}}],
                    "env": {)")
               .c_str(),
           1);
  ::setenv("NCCL_ENV_CONF", "#NCCL_ENV_SPEC {\"fabric\":{\"hcas\":[\"mlx5_2\"]}}\n", 1);
  resolve({});
  EXPECT_EQ(text("nccl.conf"), "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_2\nNCCL_IB_TIMEOUT=22\n");
  ::unsetenv("NCCL_ENV_CONF");
  write("message", "old");
  EXPECT_EQ(resolve({"--strict"}).code, 1);
  EXPECT_EQ(text("nccl.conf"), "NCCL_IB_TIMEOUT=22\n");
  EXPECT_THAT(text("message"),
              HasSubstr(R"({"omitted":"NCCL_IB_HCA","reason":"ConditionUnknown","detail":"The node)"));
}

TEST_F(Agent, ResolveWritesAnEmptyFileWhereNothingIsCertain) {
  ::setenv("NCCL_ENV_POLICY", named(kFilePolicy, R"(, "env": {"NCCL_IB_TIMEOUT": "22"})", "").c_str(), 1);
  write("nccl.conf", "NCCL_IB_HCA=stale\n");
  const CliResult result = run({"resolve", "--sysfs", path("empty"), "--out", path("nccl.conf")});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(text("nccl.conf"), "");
  EXPECT_THAT(result.out, HasSubstr("NCCL_IB_HCA: NoFabricPort: "));
  EXPECT_EQ(run({"resolve", "--sysfs", path("empty"), "--out", path("nccl.conf"), "--strict"}).code, 1);
}

TEST_F(Agent, ResolveWithoutAUsablePolicy) {
  for (const char* policy : {"", "[]", "{", R"({"kind": "NcclPolicy"})"}) {
    ::setenv("NCCL_ENV_POLICY", policy, 1);
    write("nccl.conf", "NCCL_IB_HCA=stale\n");
    const CliResult result = resolve();
    EXPECT_EQ(result.code, 0) << policy;
    EXPECT_EQ(text("nccl.conf"), "");
    EXPECT_THAT(result.out, HasSubstr("PolicyInvalid: ")) << policy;
    EXPECT_EQ(resolve({"--strict"}).code, 1);
  }
  ::unsetenv("NCCL_ENV_POLICY");
  EXPECT_THAT(resolve().out, HasSubstr("NCCL_ENV_POLICY is not set"));
}

TEST_F(Agent, ResolveWritesTheFileOfAnEngineBeside) {
  ::setenv("NCCL_ENV_NODE", "{}", 1);
  const auto write = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"resolve", "--out", path("nccl.conf"), "--engine-files", path("")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  ::setenv("NCCL_ENV_FILE_ucx.conf", "UCX_NET_DEVICES=mlx5_1:1,eth0\n", 1);
  const CliResult given = write({"--given", "NCCL_IB_HCA"});
  ::unsetenv("NCCL_ENV_FILE_ucx.conf");
  ::unsetenv("NCCL_ENV_NODE");
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("UCX_NET_DEVICES=mlx5_1:1,eth0"));
  EXPECT_EQ(text("ucx.conf"), "UCX_NET_DEVICES=mlx5_1:1,eth0\n");
  EXPECT_EQ(write({"--given", "NCCL_IB_HCA"}).code, 0) << "nothing was bound";
  EXPECT_EQ(text("ucx.conf"), "");

  auto policy = nlohmann::json::parse(kFilePolicy);
  policy["spec"]["engines"] = {"NCCL", "UCX"};
  ::setenv("NCCL_ENV_POLICY", policy.dump().c_str(), 1);
  write({"--sysfs", path("sys")});
  EXPECT_THAT(text("ucx.conf"), AllOf(HasSubstr("UCX_NET_DEVICES="), HasSubstr(",eth0\n")))
      << "found by itself";
}

// As on a full disk, which takes a file and not its content.
TEST_F(Agent, ResolveLeavesAllFilesEmptyWhereTheDiskIsFull) {
  ::setenv("NCCL_ENV_CONF", "NCCL_IB_HCA==mlx5_1\n", 1);
  ::setenv("NCCL_ENV_NODE", "{}", 1);
  ::setenv("NCCL_ENV_FILE_ucx.conf", "UCX_NET_DEVICES=mlx5_1:1,eth0\n", 1);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit none { 0, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const CliResult result = run({"resolve", "--given", "NCCL_IB_HCA", "--out", path("nccl.conf"), "--env-out",
                                path("env"), "--engine-files", path("")});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  for (const char* name : {"NCCL_ENV_CONF", "NCCL_ENV_NODE", "NCCL_ENV_FILE_ucx.conf"}) ::unsetenv(name);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nccl.conf: can't write: File too large; the file stays empty"));
  EXPECT_EQ(text("nccl.conf"), "");
  EXPECT_EQ(text("env"), "");
  EXPECT_EQ(text("ucx.conf"), "");
}

class AgentFabricTest : public Agent {
 protected:
  AgentFabricTest() { ::setenv("FABRIC_TEST_TOKEN", "secret", 1); }
  ~AgentFabricTest() override { ::unsetenv("FABRIC_TEST_TOKEN"); }
  CliResult test(std::vector<std::string> more) {
    more.insert(more.begin(),
                {"fabric-test", "--sysfs", path("sys"), "--collector", "localhost", "--node-name", "gpu-1"});
    return run(more);
  }
};

TEST_F(AgentFabricTest, AMemberAloneEndsItsJournalAfterTheWait) {
  const CliResult result = test({"--members=2", "--place=0", "--wait=1s", "--port=17471"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith(R"({"expected":2,"rounds":1})"), HasSubstr(R"("hca":"mlx5_2")"),
                                HasSubstr(R"("gidIndex":3,"gid":"0000:0000:0000:0000:0000:ffff:190b:0102")"),
                                ::testing::EndsWith("{\"expected\":2,\"rounds\":0}\n{\"ended\":true}\n")));
}

TEST_F(AgentFabricTest, WithoutCollectorAMemberEndsWellBecauseAPodThatFailsEndsTheJob) {
  const CliResult result = test({"--members=2", "--place=1", "--deadline=1s", "--port=17472"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("localhost:17472: Connection refused"));
}

// A container's first process gets no signal without a handler for it.
TEST_F(AgentFabricTest, SigtermHasAHandlerAndEndsItAtOnce) {
  Child child({in_build("/bin/nccl-env-agent"), "fabric-test", "--sysfs", path("sys"),
               "--collector=localhost", "--node-name=gpu-1", "--members=2", "--place=0", "--port=17473"});
  child.read_until("gpu-1");
  std::ifstream status("/proc/" + std::to_string(child.pid()) + "/status");
  std::string word;
  while (status >> word && word != "SigCgt:") {
  }
  status >> word;
  EXPECT_TRUE(std::stoull(word, nullptr, 16) & (1u << (SIGTERM - 1))) << word;
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait(), 128 + SIGTERM);
}

TEST_F(AgentFabricTest, UsageIsChecked) {
  EXPECT_THAT(test({"--members=2", "--place=2"}).err, HasSubstr("--place has to be below --members"));
  EXPECT_EQ(test({"--members=1", "--place=0"}).code, 2);
  EXPECT_THAT(test({"--members=2", "--place=0", "--nccl-version=1.0"}).err, HasSubstr("--nccl-version"));
  ::setenv("FABRIC_TEST_TOKEN", "", 1);
  EXPECT_THAT(test({"--members=2", "--place=0"}).err, HasSubstr("FABRIC_TEST_TOKEN is not set"));
}

}  // namespace
}  // namespace nccl_env::tests::agent_test
