// SPDX-License-Identifier: Apache-2.0
// nccl-env verify: its inputs, forms of output, exit codes. What lines prove: core's nccl_log_test.cc.
#include "cli/cli_inputs.h"
#include "support/golden.h"

namespace nccl_env::verify_test {
namespace {

using namespace nccl_env::tests;

const std::string kGivenPod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  annotations:
    nccl-env.io/node: '{"v":1,"node":"gpu-1","policy":"p","generation":1}'
    nccl-env.io/status: '{"v":1,"policy":"p","generation":1,"containers":{"c":{"set":{"NCCL_IB_HCA":"File","NCCL_IB_TIMEOUT":"Policy"}}}}'
    host.nccl-env.io/nccl.conf: "NCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n"
spec:
  nodeName: gpu-1
  containers:
  - name: c
    env:
    - {name: NCCL_IB_TIMEOUT, value: "22"}
    volumeMounts:
    - {name: nccl-env-conf, mountPath: /etc/nccl.conf, subPath: nccl.conf, readOnly: true}
  volumes:
  - name: nccl-env-conf
    downwardAPI:
      items:
      - {path: nccl.conf, fieldRef: {fieldPath: "metadata.annotations['host.nccl-env.io/nccl.conf']"}}
)";
const std::string kGood =
    "starting\n"
    "gpu-1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    "gpu-1:1:1 [0] NCCL INFO Using network IB\n";
const std::string kBad = kGood + "gpu-1:1:1 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 14.\n";

class Verify : public CliTest {
 protected:
  const std::string pod = write("pod.yaml", kGivenPod);
  [[nodiscard]] CliResult run(const std::string& log, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"verify", write("train.log", log), "-f", pod});
    return run_cli(more);
  }
};

TEST_F(Verify, TellsOfEachValueWhatTheLogProves) {
  const std::string refused =
      "gpu-1:1:1 [0] transport/net_ib.cc:547 NCCL WARN NET/IB : Unable to open device mlx5_1\n";
  const std::pair<std::string, int> logs[] = {{kGood, 0}, {kBad, 1}, {kGood + refused, 1}};
  for (const auto& [log, code] : logs) {
    const CliResult result = run(log);
    EXPECT_EQ(result.code, code) << result.err;
    expect_golden(log, result.out);
  }
}

TEST_F(Verify, FailuresOfOneCodeHaveItsRemedyOnce) {
  std::string log = kGood;
  for (const char* device : {"mlx5_1", "mlx5_2"})
    log += std::string("gpu-1:1:1 [0] transport/net_ib.cc:547 NCCL WARN NET/IB : Unable to open device ") +
           device + "\n";
  const std::string out = run(log).out, remedy = "Request the RDMA resource";
  EXPECT_THAT(out, HasSubstr("line 5: mlx5_2"));
  EXPECT_EQ(out.find(remedy), out.rfind(remedy));
}

TEST_F(Verify, AManifestInPlaceOfALogIsToldWhatTakesIt) {
  const CliResult told = run_cli({"verify", pod});
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.err, AllOf(HasSubstr("pod.yaml: holds a Pod"), HasSubstr("`nccl-env explain -f ")));
  EXPECT_EQ(run("kind: of log\n").code, 3) << "it says no kind of an object's";
}

TEST_F(Verify, AFallBackIsCode1AlsoWithoutAPod) {
  const std::string socket = "a:1:1 [0] NCCL INFO Using network Socket\n";
  expect_shown(run_cli({"verify", "-"}, socket + "b" + socket.substr(1)), 1);
  expect_shown(run_cli({"verify", "-"}, socket), 0);
}

TEST_F(Verify, SeveralLogsAreTheRanksOfAJob) {
  const std::string lost =
      "gpu-2:1:1 [0] x.cc:1 NCCL WARN NET/IB : mlx5_1:1 Got async fatal event: local catastrophic error\n";
  const std::string good = write("a.log", kGood), bad = write("b.log", kGood + lost);
  EXPECT_EQ(run_cli({"verify", good, good}).code, 0);
  const CliResult result = run_cli({"verify", good, bad});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out.substr(0, result.out.find('\n')), HasSubstr("b.log: DeviceLost: "));
  const Json json = Json::parse(run_cli({"verify", good, bad, "-o", "json"}).out);
  EXPECT_EQ(json["ranks"][0]["rank"], bad);
  EXPECT_EQ(json["findings"][0]["code"], "DeviceLost");
  EXPECT_EQ(run_cli({"verify", write("e.log", "x\n"), write("f.log", "y\n")}).code, 3);
  EXPECT_EQ(run_cli({"verify", good, path("absent.log")}).code, 4);
  EXPECT_EQ(run_cli({"verify", good, "pod/train-0"}).code, 2);
  EXPECT_EQ(run_cli({"verify", good, bad, "-f", pod}).code, 2);
}

TEST_F(Verify, ARankThatWroteNothingStopsNoOther) {
  const std::string lost = "gpu-1:1:1 [0] x.cc:1 NCCL WARN Cuda failure 2 'out of memory'\n";
  const std::string bad = write("a.log", kGood + lost), empty = write("b.log", "");
  const CliResult result = run_cli({"verify", bad, empty});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("EndedElsewhere"));
  EXPECT_THAT(result.out, HasSubstr("no line of NCCL's,\n  though others wait or failed"));
  EXPECT_EQ(run_cli({"verify", empty, empty}).code, 3);
  EXPECT_EQ(run_cli({"verify", empty}).code, 3);
  EXPECT_EQ(run_cli({"verify", bad, bad + "x"}).code, 4) << "a name with a mistake";
}

TEST_F(Verify, CarriageReturnsPartALine) {
  const std::string error =
      "gpu-1:1:1 [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47> with status=12 opcode=0 "
      "len=0 vendor err 129\n";
  std::string bars;
  for (int i = 0; i < 5000; ++i) bars += " 10%|#         | " + std::to_string(i) + "/5000 [00:10]\r";
  const CliResult result = run_cli({"verify", write("bars.log", kGood + bars + error)});
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr("Line 4: peer 10.0.0.2<47>"));
  std::string windows = kBad;
  for (std::size_t at = windows.find('\n'); at != windows.npos; at = windows.find('\n', at + 2))
    windows.insert(at, "\r");
  EXPECT_EQ(run(windows).out, run(kBad).out);
}

TEST_F(Verify, HugeLinesJunkNulsAndUtf16AreReadInPieces) {
  const std::string plain = run_cli({"verify", "-"}, kGood).out;
  EXPECT_EQ(run_cli({"verify", "-"}, kGood).code, 0);
  std::string wide = "\xff\xfe";
  for (const char byte : kGood) wide += {byte, '\0'};
  EXPECT_EQ(run_cli({"verify", "-"}, wide).out, plain);
  EXPECT_EQ(run_cli({"verify", "-"}, std::string(200'000, '\0') + kGood).out, plain) << "a file that was cut";
  EXPECT_EQ(run_cli({"verify", "-"}, std::string(3, '\0') + "\n" + kGood).code, 0)
      << "a log that was truncated";
  std::string junk(1 << 20, 'x');
  for (std::size_t i = 0; i < junk.size(); i += 3) junk[i] = static_cast<char>(i * 31);
  const CliResult result = run(junk + "\n" + kGood + junk);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("NCCL uses mlx5_1:1"));
}

TEST_F(Verify, WhatCannotBeJudgedIsRefused) {
  expect_shown(run_cli({"verify", "-"}, ""), 3);
  const std::string list = write("list.json", R"({"kind": "List", "apiVersion": "v1", "items": []})");
  EXPECT_EQ(run_cli({"verify", write("l.log", kGood), "-f", list}).code, 4);
  expect_shown(run("no line of it\n"), 3);
  expect_shown(run("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 "
                   "clients joined.\n"),
               3);
  EXPECT_EQ(run("").code, 3);
  EXPECT_EQ(run_cli({"verify", path("absent.log")}).code, 4);
  expect_shown(run_cli({"verify", write("a.log", kGood), "-f", write("p.json", kPod)}));
  expect_shown(run(kGood, {"--container", "d"}), 2);
  EXPECT_EQ(run_cli({"verify", "-", "-f", "-"}).code, 2);
  EXPECT_EQ(run_cli({"verify", "-", "--container", "c"}).code, 2);
  EXPECT_EQ(run_cli({"verify"}).code, 2);
}

}  // namespace
}  // namespace nccl_env::verify_test
