// SPDX-License-Identifier: Apache-2.0
#include "cli/cli_run.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env::what_test {
namespace {

using namespace nccl_env::tests;

TEST(ReasonsDoc, EveryReasonHasItsEntryThatSaysWhatToDoAndNoOtherHas) {
  std::ifstream file(source_file("docs/use/reasons.md"));
  std::vector<std::string> headings, telling;
  std::string heading;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      heading = line.starts_with("### ") ? line.substr(4) : "";
      if (!heading.empty()) headings.push_back(heading);
    } else if (line.find("To do:") != line.npos && !heading.empty()) {
      telling.push_back(std::exchange(heading, ""));
    }
  }
  std::vector<std::string> reasons;
  for (const Reason reason : all_reasons()) reasons.emplace_back(to_string(reason));
  EXPECT_THAT(headings, ::testing::UnorderedElementsAreArray(reasons));
  EXPECT_EQ(telling, headings);
}

TEST(What, ReasonsFindingsAndVariablesAreToldInAnyCaseAndInAPastedLine) {
  const auto out = [](const char* words) { return run_cli({"what", words}).out; };
  EXPECT_THAT(out("gidnotuniform"), AllOf(StartsWith("GidNotUniform  "), Not(HasSubstr("NoTable"))));
  EXPECT_EQ(run_cli({"what", "gidnotuniform"}).code, 0);
  EXPECT_THAT(out("PortDown"),
              AllOf(StartsWith("PortDown  A port of the fabric is not Active.\n"), HasSubstr("Check cable")));
  EXPECT_THAT(out("nccl_ib_timeout"), AllOf(StartsWith("NCCL_IB_TIMEOUT  Takes integer from 1 to 31"),
                                            HasSubstr("docs/reference/variables.md")));
  EXPECT_THAT(out("! gpu-3  PortDown mlx5_3"), StartsWith("PortDown "));
  EXPECT_THAT(out("NCCL_IB_TC=106"), StartsWith("NCCL_IB_TC "));
  EXPECT_THAT(run_cli({"what", "NoTable", "-o", "json"}).out,
              AllOf(HasSubstr("\"impact\": \"node\""), HasSubstr("\"document\": \"docs/use/reasons.md\"")));
  const std::string all = run_cli({"what"}).out;
  for (const char* name : {"NoTable", "PortDown", "RailDown", "EmptyGid", "Hooks"})
    EXPECT_THAT(all, HasSubstr(name));
  EXPECT_THAT(all, Not(HasSubstr("Check cable"))) << "a remedy is told of the one that is asked for";
}

TEST(What, AWordHasOneMeaning) {
  EXPECT_THAT(run_cli({"what", "StaleTable"}).out,
              AllOf(HasSubstr("(reason, docs/use/reasons.md)"), Not(HasSubstr("finding"))));
  EXPECT_THAT(run_cli({"what", "auto"}).out, StartsWith("gidIndex  NCCL_IB_GID_INDEX. Auto: "));
  for (const char* word : {"SubInterface", "Binding", "rail", "GID index", "vf", "inject", "resolver", "hca"})
    EXPECT_THAT(run_cli({"what", word}).out, HasSubstr("(word, docs/start/concepts.md#words)")) << word;
  EXPECT_THAT(run_cli({"what", "carrier"}).out, StartsWith("carrier  how a node's values reach"));
}

TEST(What, ALineOfNcclsLogAnAlertAndASymptomAreFound) {
  const auto out = [](const char* words) { return run_cli({"what", words}).out; };
  for (const char* line : {"error 12", "status=12",
                           "NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0"})
    EXPECT_THAT(out(line), StartsWith("NoAnswer  ")) << line;
  EXPECT_THAT(out("error 12"), HasSubstr("(section, docs/use/troubleshooting.md#error-12)"));
  EXPECT_THAT(out("ncclenvportdown"), HasSubstr("(section, docs/operate/runbooks.md#ncclenvportdown)"));
  EXPECT_THAT(out("NcclEnvFailedOpen"),
              StartsWith("NcclEnvFailedOpen  Within ten minutes the API server had no"));
  EXPECT_THAT(out("strict"), HasSubstr("docs/operate/operations.md#strict-namespaces"));
}

// Words that people paste, and how the answer begins.
TEST(What, WordsOfEachSurfaceAreAnswered) {
  const std::pair<const char*, const char*> rows[] = {
      {"[rank3]:[E1128 10:00:00.0 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation "
       "timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE) ran for 600012 milliseconds before timing out.",
       "TimedOut  "},
      {"via NET/Socket", "FellBack  "},
      {"gpu-1:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0", "FellBack  "},
      {"Using network Socket", "FellBack  "},
      {"spec.expectPorts", "expectPorts  Fabric ports of a node;"},
      {"File", "File  a line of the file, "},
      {"CUDA out of memory", "EndedElsewhere  "},
      {"Pending", "Pending  kubectl describe pod shows who refused."},
      {"MissingRail", "MissingRail  A rank has fewer HCAs"},
      {"own values", "own values  It gets nothing"},
      {"hang", "Hang at init  "},
      {"slow", "FellBack  "},
      {"timeout", "TimedOut  "},
      {"CrashLoopBackOff", "PodFailed  "},
      {"sr-iov", "PF, VF  "},
      {"vendor err 129", "NoAnswer  "},
      {"ecn", "LossyTrafficClass  "},
      {"error 110", "NoRoute  "},
      {"port error", "LinkDown  "},
      {"ibv_reg_mr", "GpuMemory  "},
      {"Cannot allocate memory", "MemoryLock  "},
      {"IPC_LOCK", "MemoryLock  "},
      {"no route to host", "NoRoute  "},
      {"nvlink", "Not the network  "},
      {"segfault", "Not the network  "},
      {"remote process exited or there was a network error", "GaveUp  "},
      {"NET/IB : No device found.", "No device found  If the list matches nothing:"},
      {"Bootstrap : no socket interface found", "NoInterface  "},
      {"mtu", "MtuDiffers  "},
      {"/dev/shm", "SharedMemory  "},
      {"mpirun", "Ranks without the environment  "},
      {"link-local", "LinkLocalGid  "},
      {"Acs", "GpuMemory  "},
      {"pfc", "LossyTrafficClass  "},
      {"apiserver_admission_webhook_fail_open_count", "NcclEnvFailedOpen  "},
      {"mlx5_core 0000:17:00.0: print_health_info:431:(pid 0): firmware internal error", "DeviceLost  "},
      {"admission webhook \"binding.nccl-env.io\" denied the request: x", "Pending  "},
      {"fabric.excludeHcas", "excludeHcas  "},
      {"gidIndex: Pin", "gidIndex  "},
      {"NCCL_IB_TIMEOUT=22", "NCCL_IB_TIMEOUT  "},
      {"pod has no values", "The pod has no values at all  "},
      {"training hangs at start", "Hang at init  "},
      {"Init:ErrImagePull", "The agent's image  "},
      {"Back-off pulling image \"registry.example/a:1\" Init:ImagePullBackOff", "The agent's image  "},
      {"[FIRING:1] NcclEnvFailedOpen (critical)", "NcclEnvFailedOpen  "},
      {"table not written", "NcclEnvAgentNotPublishing  "},
      {"pod stuck in Pending", "Pending  "},
      {"failed calling webhook \"strict-pods.nccl-env.io\": context deadline exceeded", "Strict namespace  "},
      {"strict", "Strict namespaces  It counts beside"},
      {"nccl.conf", "nccl.conf in a pod  "},
      {"failed calling webhook \"pods.nccl-env.io\": Post "
       "\"https://nccl-env-webhook.nccl-env.svc:443/admit\"",
       "NcclEnvFailedOpen  "},
      {"MutatingWebhook \"pods.nccl-env.io\" failed", "NcclEnvFailedOpen  "},
      {"0/3 nodes are available: 3 Insufficient rdma/hca_shared_devices_a.", "No RDMA resource  "},
      {"mlx5_core 0000:17:00.0: Port module event: module 0, Cable unplugged", "PortDown  "},
      {"RLIMIT_MEMLOCK", "MemoryLock  "},
      {"connection reset by peer", "PeerClosed  "},
      {"NET/Socket : Using", "FellBack  "},
      {"show_gids", "table, NodeFabric  "},
      {"how do I opt out", "opt in, opt out"},
      {"NCCL_IB_HCA",
       "NCCL_IB_HCA  Takes HCA list, at most 32. Each node may need another value.\n"
       "             the HCA ports that NCCL may use"},
      {"nccl_env_decisions_total{outcome=\"skip\"}", "nccl_env_decisions_total  Reviews by what was decided"},
      {"nccl-env.io/node", "nccl-env.io/status, nccl-env.io/node  annotations of a pod"},
      {"PodsWithoutValues", "Accepted, PodsWithoutValues  conditions"},
  };
  for (const auto& [pasted, begin] : rows)
    EXPECT_THAT(run_cli({"what", pasted}).out, StartsWith(begin)) << pasted;
  EXPECT_THAT(run_cli({"what", "stale"}).out,
              AllOf(HasSubstr("StaleTable "), HasSubstr("NcclEnvTablesStale ")));
  EXPECT_THAT(run_cli({"what", "which nic does nccl use"}).err, EndsWith("troubleshooting.md#wrong-nic\n"));
  EXPECT_THAT(run_cli({"what", "it hangs after 10 minutes"}).err, EndsWith("#hang-at-init\n"));
  EXPECT_THAT(run_cli({"what", "foo bar"}).err, EndsWith("nearest: docs/README.md\n"));
  for (const char* none :
       {"foo bar", "???", "error reading file", "my job", "how do I turn it off", "network policy",
        "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
        "failed calling webhook \"istio-sidecar\": x509: certificate signed by unknown authority",
        "Liveness probe failed: Get \"http://10.0.0.1:8080/healthz\": context deadline",
        "no matches for kind \"NcclPolicy\" in version \"nccl-env.io/v1alpha1\""}) {
    EXPECT_EQ(run_cli({"what", none}).code, 2);
    EXPECT_THAT(run_cli({"what", none}).err, HasSubstr("for a pod: nccl-env explain pod/NAME"));
  }
}

TEST(What, TheBestAnswerIsToldInFullAndThreeOthersByNameEachOnce) {
  for (const char* asked : {"hang", "Pending", "modify_qp 110", "wrong nic", "memory"}) {
    const auto names = nlohmann::json::parse(run_cli({"what", asked, "-o", "json"}).out).at("names");
    std::set<std::string> known;
    for (const auto& each : names) known.insert(each.at("name"));
    EXPECT_EQ(known.size(), names.size()) << asked;
    EXPECT_LE(names.size(), 4U) << asked;
  }
  EXPECT_THAT(run_cli({"what", "error 12"}).out, Not(HasSubstr("acknowledgement came"))) << "of the section";
}

TEST(What, AFindingWithoutACommonRemedySaysWhereItIs) {
  for (const char* code : {"CaBundle", "PolicyField"})
    EXPECT_THAT(run_cli({"what", code}).out, HasSubstr("Each one that is told says what to do")) << code;
  EXPECT_THAT(run_cli({"what", "PortDown"}).out, Not(HasSubstr("Each one that is told")));
}

TEST(What, AMisspeltNameIsNotTaken) {
  EXPECT_EQ(run_cli({"what", "PortDwn"}).code, 2);
  EXPECT_THAT(run_cli({"what", "PortDwn"}).err, HasSubstr("do you mean PortDown?"));
  EXPECT_THAT(run_cli({"what", "SubInterfase"}).err, HasSubstr("do you mean SubInterface?"));
  EXPECT_THAT(run_cli({"what", "NCCL_IB_GIDINDEX"}).err, HasSubstr("do you mean NCCL_IB_GID_INDEX?"));
  EXPECT_THAT(run_cli({"what", "NCCL_FOO"}).err, Not(HasSubstr("do you mean")));
}

}  // namespace
}  // namespace nccl_env::what_test
