// SPDX-License-Identifier: Apache-2.0
// NCCL's log lines, 2.18 to 2.32, and what they prove about values that a pod was given.
#include "nccl_env/judge/nccl_log/nccl_log.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "judge/nccl_log/verify_lines.h"
#include "nccl_env/judge/explain/pod_record.h"
#include "nccl_env/judge/nccl_log/log_print.h"
#include "nccl_env/judge/nccl_log/log_verify.h"
#include "support/golden.h"

namespace nccl_env::nccl_log_test {
namespace {

using namespace nccl_env::tests;

const std::vector<Value> kGiven{{"NCCL_IB_HCA", "=mlx5_1,mlx5_2", Source::Node},
                                {"NCCL_IB_GID_INDEX", "3", Source::Node},
                                {"NCCL_SOCKET_IFNAME", "=eth0", Source::Policy},
                                {"NCCL_IB_TIMEOUT", "22", Source::Policy}};

std::vector<std::string> verdicts(const std::string& text, const std::vector<Value>& given = kGiven) {
  std::vector<std::string> found;
  for (const VerifiedValue& value : verify_lines(text, given).values)
    found.push_back(value.name + " " + std::string(to_string(value.verdict)));
  return found;
}

LogVerification verify(const std::string& text) {
  return verify_lines(text, kGiven);
}

// A rank's log as that version writes it, in good order.
struct Format {
  std::string version;
  std::string log;
};

std::string info(const std::string& text) {
  return "gpu-1:12:34 [0] NCCL INFO " + text + "\n";
}

// Of the thread of a connection.
std::string later(const std::string& text) {
  return "gpu-1:12:56 [0] NCCL INFO " + text + "\n";
}

std::string uses(const std::string& devices) {
  return info("NET/IB : Using " + devices + " OOB eth0:10.1.2.3<0>");
}

std::vector<Format> formats() {
  const std::string reads = info("NCCL_SOCKET_IFNAME set by environment to =eth0") +
                            info("NCCL_IB_HCA set to =mlx5_1,mlx5_2") +
                            later("NCCL_IB_GID_INDEX set by environment to 3.") +
                            later("NCCL_IB_TIMEOUT set by environment to 22.");
  const std::string network = info("Using network IB"), both = "[0]mlx5_1:1/RoCE [1]mlx5_2:1/RoCE",
                    gid = "GID 3 (0/8028119FFFF0000)";
  return {
      {"2_18", "NCCL version 2.18.3+cuda12.2\n" + info("Bootstrap : Using eth0:10.1.2.3<0>") + reads +
                   uses(both + " [RO];") + network +
                   later("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA") +
                   later("NET/IB: Dev 0 Port 1 qpn 4711 mtu 5 " + gid)},
      {"2_20_merged", "NCCL version 2.20.5+cuda12.4\n" + reads +
                          uses("[0]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} ;") +
                          info("Using non-device net plugin version 0") + network +
                          later("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 4711 mtu 5 " + gid)},
      {"2_21_asked_by_family", "NCCL version 2.21.5+cuda12.4\n" + reads +
                                   info("NCCL_IB_ADDR_FAMILY set by environment to AF_INET") +
                                   uses("[0]={[0] mlx5_1:1/RoCE} [1]={[0] mlx5_2:1/RoCE} [RO];") + network +
                                   later("NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 4712 mtu 5 "
                                         "query_ece={supported=1} " +
                                         gid + " fifoRkey=0x1 fifoLkey=0x2")},
      {"2_23", info("Bootstrap : Using eth0:10.1.2.3<0>") + info("NCCL version 2.23.4+cuda12.6") + reads +
                   uses("[0]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO];") + network},
      {"2_24", info("Bootstrap: Using eth0:10.1.2.3<0>") + info("NCCL version 2.24.3+cuda12.6") + reads +
                   info("NET/IB : Made virtual device [2] name=mlx5_1+mlx5_2 speed=400000 ndevs=2") +
                   uses(both + " ;") + network},
      {"2_26",
       info("Bootstrap: Using eth0:10.1.2.3<0>") + info("NCCL version 2.26.2+cuda12.8") + reads +
           info("NET/IB : Made virtual device [0] name=mlx5_1 speed=200000 ndevs=1") + uses(both + " [RO];") +
           "[2026-11-20 08:00:00] gpu-1:12:34 [0] transport/net_ib.cc:123 NCCL WARN NET/IB : ignoring "
           "something\n" +
           network},
      {"2_27_data_direct", reads + uses("[0]mlx5_1_dma:1/RoCE [1]mlx5_2:1/RoCE [RO];") +
                               info("Initialized NET plugin IB") + info("Assigned NET plugin IB to comm") +
                               network},
      {"2_28_plugins", info("NCCL_ENV_PLUGIN set by environment to none") +
                           info("NCCL_NET_PLUGIN set by environment to none") + reads +
                           uses(both + " [RO];") + info("Initialized NET plugin IB") + network +
                           later("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 4711 mtu 5 " + gid)},
      {"2_29", reads +
                   "[2026-11-20 08:00:00] gpu-1:12:34 [0] init.cc:99 (ncclInit) NCCL WARN ignoring "
                   "something\n" +
                   uses(both + " [RO];") + network +
                   later("NET/IB: ncclIbAccept: NCCL Dev 0 IbDev 0 Port 1 qp_num 4711 mtu 5 " + gid)},
      {"2_30_rails",
       reads + uses("[0]mlx5_1:1:0/RoCE [1]mlx5_2:1:1:0/RoCE [RO];") + network +
           later("NET/IB: ncclIbConnect: NCCL Dev 0 IbDev 0 Port 1 qp_num 4711 mtu 5 GID 3 (0/80)")},
      {"2_30_planes", reads + uses("[0]mlx5_1:1::0/RoCE [1]mlx5_2:1::1/RoCE ;") + network},
  };
}

class LogFormat : public ::testing::TestWithParam<Format> {};

TEST_P(LogFormat, ProvesWhatItSays) {
  const LogVerification verification = verify(GetParam().log);
  EXPECT_THAT(verdicts(GetParam().log), ElementsAre("NCCL_IB_HCA used", "NCCL_IB_GID_INDEX used",
                                                    "NCCL_SOCKET_IFNAME used", "NCCL_IB_TIMEOUT used"));
  EXPECT_TRUE(is_good(verification.findings));
  const NcclLog log = read_lines(GetParam().log);
  EXPECT_EQ(log.processes, 1u);
  EXPECT_EQ(log.devices.size(), 2u);
  EXPECT_TRUE(log.networks.contains("IB"));
}

TEST_P(LogFormat, BehindAnyLoggersPrefix) {
  for (const std::string prefix :
       {"[pod/train-0/pytorch] ", "2026-11-20T08:00:00.123456789Z stdout F ",
        "[default0]:", "[1,3]<stdout>: ", "\x1b[32m[rank0]\x1b[0m ", "[2026-11-20 08:00:00] "}) {
    std::istringstream lines(GetParam().log);
    std::string text;
    for (std::string line; std::getline(lines, line);) text += prefix + line + "\r\n";
    EXPECT_EQ(verdicts(text), verdicts(GetParam().log)) << prefix;
  }
}

// The ranks of a node write line by line into one log, each at its own pace.
TEST_P(LogFormat, OfRanksInterleaved) {
  std::vector<std::istringstream> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    std::string log = GetParam().log;
    const std::string host = "gpu-1:12:";
    for (auto at = log.find(host); at != log.npos; at = log.find(host, at + 1))
      log.replace(at, host.size(), "gpu-1:" + std::to_string(500 + rank) + ":");
    if (rank == 6) log += "gpu-1:506:34 [6] NCCL INFO NET/IB: Dev 0 Port 1 qpn 4711 mtu 5 GID 1 (0/1)\n";
    ranks.emplace_back(log);
  }
  std::string woven;
  std::size_t turn = 0;
  for (std::size_t idle = 0; idle < 64; turn = turn * 5 + 3) {  // every rank comes in each eight turns
    std::string line;
    idle = std::getline(ranks[turn % 8], line) ? 0 : idle + 1;
    if (idle == 0) woven += line + "\n";
  }
  EXPECT_EQ(read_lines(woven).processes, 8u);
  EXPECT_THAT(verdicts(woven), ElementsAre("NCCL_IB_HCA used", "NCCL_IB_GID_INDEX contradicted",
                                           "NCCL_SOCKET_IFNAME used", "NCCL_IB_TIMEOUT used"));
}

// Nothing that is cut off proves the opposite of what the whole line says.
TEST_P(LogFormat, CutAnywhereContradictsNothing) {
  for (std::size_t end = 0; end < GetParam().log.size(); ++end) {
    NcclLogReader reader;
    std::istringstream lines(GetParam().log.substr(0, end));
    for (std::string line; std::getline(lines, line);) reader.read_line(line, lines.eof());
    for (const VerifiedValue& value : verify_log(reader.log(), kGiven).values)
      EXPECT_TRUE(value.verdict == LogVerdict::Used || value.verdict == LogVerdict::NotSeen)
          << value.name << ": " << value.evidence << "\n"
          << GetParam().log.substr(0, end);
  }
}

INSTANTIATE_TEST_SUITE_P(NcclLog, LogFormat, ::testing::ValuesIn(formats()),
                         [](const auto& each) { return "V" + each.param.version; });

TEST(NcclLog, ValuesThatAreSetAnewAreOverridden) {
  const std::string log =
      "a:1:1 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 18.\n"
      "a:1:1 [0] NCCL INFO NCCL_IB_HCA set to mlx5\n";
  EXPECT_THAT(verdicts(log), ElementsAre("NCCL_IB_HCA overridden", "NCCL_IB_GID_INDEX not seen",
                                         "NCCL_SOCKET_IFNAME not seen", "NCCL_IB_TIMEOUT overridden"));
  EXPECT_FALSE(is_good(verify(log).findings));
  expect_golden(log, render_text(verify(log), read_lines(log)));
}

TEST(NcclLog, WhatNcclDoesMayContradictTheValue) {
  EXPECT_THAT(
      verdicts("a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE ; OOB eth1:10.0.0.1<0>\n"
               "a:1:1 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 1 mtu 5 GID 1 (0/1)\n"
               "a:1:1 [0] NCCL INFO Invalid value abc for NCCL_IB_TIMEOUT, using default 20.\n"),
      ElementsAre("NCCL_IB_HCA contradicted", "NCCL_IB_GID_INDEX contradicted",
                  "NCCL_SOCKET_IFNAME contradicted", "NCCL_IB_TIMEOUT contradicted"));
  const auto found = verify("a:1:1 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 1 mtu 5 GID 1 (0/1)\n").findings;
  EXPECT_NE(std::ranges::find(found, Code::ValueContradicted, &Finding::code), found.end());
}

TEST(NcclLog, ASilentFallBackToSocketsIsTold) {
  for (const std::string log :
       {"a:1:1 [0] NCCL INFO NET/IB : No device found.\n"
        "a:1:1 [0] NCCL INFO NET/IB : Using\n"
        "a:1:1 [0] NCCL INFO Using network Socket\n",
        "a:1:1 [0] NCCL INFO Using network Socket\n",
        "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"}) {
    const LogVerification verification = verify(log);
    EXPECT_TRUE(verification.fell_back) << log;
    EXPECT_FALSE(is_good(verification.findings));
    EXPECT_EQ(verification.values[1].verdict, LogVerdict::NotSeen);
    expect_golden(log, render_text(verification, read_lines(log)));
  }
}

TEST(NcclLog, SocketsThatTheUserAskedForAreNoFallBack) {
  for (const std::string wish :
       {"NCCL_IB_DISABLE set by environment to 1.", "NCCL_NET set by environment to Socket"}) {
    const LogVerification verification =
        verify("a:1:1 [0] NCCL INFO " + wish + "\na:1:1 [0] NCCL INFO Using network Socket\n");
    EXPECT_FALSE(verification.fell_back) << wish;
    expect_golden(wish, verification.sentence);
  }
}

TEST(NcclLog, RanksThatWriteIntoOneLineAreToldApart) {
  const NcclLog log = read_lines(
      "gpu-1:1:1 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22. gpu-1:2:2 [1] NCCL INFO Using "
      "network IB\n"
      "gpu-1:1:1 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to gpu-1:2:2 [1] NCCL INFO Using network "
      "IB\n"
      "gpu-1:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to =etgpu-1:2:2 [1] NCCL INFO Using "
      "network IB\n");
  EXPECT_GE(log.processes, 2u);
  EXPECT_EQ(log.nccl_lines, 3u);
  EXPECT_EQ(log.networks.size(), 1u);
  EXPECT_EQ(verify_log(log, kGiven).values[3].verdict, LogVerdict::Used);
  EXPECT_EQ(verify_log(log, kGiven).values[1].verdict, LogVerdict::NotSeen);
}

TEST(NcclLog, AListOf32HcasIsCutByNcclItself) {
  std::string list = "=";
  for (int i = 0; i < 32; ++i)
    list += (i ? ",rocep" : "rocep") + std::to_string(100 + i) + "s0f0_a_long_name_of_one";
  const std::string line = "gpu-1:12:34 [0] NCCL INFO NCCL_IB_HCA set to " + list;
  EXPECT_THAT(verdicts(line.substr(0, 1023), {{"NCCL_IB_HCA", list, Source::Node}}),
              ElementsAre("NCCL_IB_HCA used"));
  EXPECT_THAT(verdicts(line.substr(0, 1023), {{"NCCL_IB_HCA", "=mlx5_1", Source::Node}}),
              ElementsAre("NCCL_IB_HCA overridden"));
}

TEST(NcclLog, MemoryIsBounded) {
  NcclLogReader reader;
  for (int i = 0; i < 20000; ++i) {
    const std::string n = std::to_string(i);
    reader.read_line("h:" + n + ":1 [0] NCCL INFO NCCL_V" + n + " set by environment to " + n + ".");
    reader.read_line("h:1:1 [0] NCCL INFO NET/IB : Using [0]d" + n + ":1/RoCE ; OOB e" + n + ":1<0>");
    reader.read_line("h:1:1 [0] NCCL WARN ignoring w" + n);
  }
  EXPECT_EQ(reader.log().processes, kMaxProcesses);
  EXPECT_EQ(reader.log().values.size(), 256u);
  EXPECT_EQ(reader.log().devices.size(), 256u);
  EXPECT_EQ(reader.log().warnings.size(), 256u);
}

// A line of slashes took 9 s of CPU: for each of them the word before it was looked for from there.
TEST(NcclLog, ALineOfSlashesIsReadInOnePass) {
  const std::string head = "h:1:2 [0] NCCL INFO NET/IB : Using ";
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(read_lines(head + std::string(60000, '/')).devices.empty());
  EXPECT_TRUE(read_lines(head + std::string(60000, ':') + "/RoCE").devices.empty());
  std::string devices = head;
  for (int i = 0; i < 5000; ++i) devices += "[0]d" + std::to_string(i) + ":1/RoCE ";
  EXPECT_EQ(read_lines(devices).devices.size(), 256u);
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

class GivenValues : public ::testing::Test {
 protected:
  static Result<std::vector<Value>> values(const std::string& annotations, const std::string& container = "",
                                           const std::string& node = "n") {
    ReviewParser parser;
    const std::string text =
        R"({"metadata": {"name": "p", "annotations": {)" + annotations +
        R"("nccl-env.io/node": "{\"v\":1,\"node\":\"n\",\"policy\":\"p\",\"generation\":1}"}},
      "spec": {"nodeName": ")" +
        node + R"(", "containers": [
      {"name": "c", "volumeMounts": [
        {"name": "nccl-env-conf", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": true}], "env": [
        {"name": "NCCL_IB_TIMEOUT", "value": "22"}, {"name": "OWN", "value": "x"}]}], "volumes": [
      {"name": "nccl-env-conf", "downwardAPI": {"items": [{"path": "nccl.conf",
        "fieldRef": {"fieldPath": "metadata.annotations['host.nccl-env.io/nccl.conf']"}}]}}]}})";
    const Result<Pod> pod = parser.parse_pod(text);
    EXPECT_TRUE(pod.ok()) << pod.error().message;
    return injected_values(*pod, container, nlohmann::json::parse(text));
  }
};

TEST_F(GivenValues, MayComeByFileAlone) {
  const auto found =
      values(R"("host.nccl-env.io/nccl.conf": "NCCL_IB_SL=1\nNCCL_IB_TIMEOUT=20\n", "nccl-env.io/status":)"
             R"("{\"v\":1,\"policy\":\"p\",\"containers\":{\"c\":{\"set\":{\"NCCL_IB_SL\":\"File\",)"
             R"(\"NCCL_IB_TC\":\"File\",\"nccl.conf\":\"Node\"}}}}",)");
  ASSERT_TRUE(found.ok()) << found.error().message;
  // A line that is not there was not given, nor one that the user's env beats.
  const auto is_ours = [](const Value& value) { return value.state != State::Users; };
  ASSERT_EQ(std::ranges::count_if(*found, is_ours), 1);
  const Value& line = *std::ranges::find_if(*found, is_ours);
  EXPECT_EQ(line.value, "1");
  EXPECT_EQ(line.source, Source::File);
  const Value* own = find_named(*found, "NCCL_IB_TIMEOUT");
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->state, State::Users);
}

TEST_F(GivenValues, NeedAStatusThatCanBeRead) {
  expect_golden("no status", values("").error().message);
  for (const std::string status :
       {"x", "[]", "{}", "{\\\"containers\\\":1}", "{\\\"containers\\\":{\\\"c\\\":1}}"})
    EXPECT_FALSE(values("\"nccl-env.io/status\": \"" + status + "\",").ok()) << status;
  expect_golden("--container d",
                values(R"("nccl-env.io/status": "{\"v\":1,\"containers\":{}}",)", "d").error().message);
}

TEST_F(GivenValues, ThatAreNotThePodsOwnAreNotGood) {
  const auto found = values(R"("host.nccl-env.io/nccl.conf": "NCCL_IB_HCA==mlx5_1\n",)", "", "other");
  ASSERT_TRUE(found.ok()) << found.error().message;
  const Value* foreign = find_named(*found, "NCCL_IB_HCA");
  ASSERT_NE(foreign, nullptr);
  EXPECT_EQ(foreign->state, State::Foreign);
  const LogVerification verification = verify_log({}, *found);
  EXPECT_FALSE(is_good(verification.findings));
  expect_golden(verification.sentence);
}

TEST(NcclLog, TheJsonHasItsKeys) {
  const std::string log = formats().front().log;
  const auto json = to_json(verify(log), read_lines(log));
  EXPECT_EQ(json["good"], true);
  EXPECT_EQ(json["fellBackToSockets"], false);
  EXPECT_EQ(json["values"][0]["verdict"], "used");
  EXPECT_EQ(json["log"]["versions"], nlohmann::ordered_json::array({"2.18.3+cuda12.2"}));
  EXPECT_EQ(json["log"]["gidIndexes"], nlohmann::ordered_json::array({"3"}));
  EXPECT_THAT(json["notes"], IsEmpty());
}

}  // namespace
}  // namespace nccl_env::nccl_log_test
