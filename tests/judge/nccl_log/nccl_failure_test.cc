// SPDX-License-Identifier: Apache-2.0
// Failures in NCCL's log, as its versions and HPC-X's plugin print them, and the values that caused them.
#include "nccl_env/judge/nccl_log/nccl_failure.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "judge/nccl_log/verify_lines.h"
#include "nccl_env/judge/nccl_log/failure_line.h"
#include "nccl_env/judge/nccl_log/log_print.h"
#include "nccl_env/judge/nccl_log/log_verify.h"
#include "support/golden.h"

namespace nccl_env::nccl_failure_test {
namespace {

using namespace nccl_env::tests;

const std::string kWarn = "[2026-11-20 08:00:00] gpu-1:984:1357 [4] ";

std::vector<Value> given(std::string index = "3") {
  return {{"NCCL_IB_HCA", "=mlx5_1,mlx5_2", Source::Node},
          {"NCCL_IB_GID_INDEX", std::move(index), Source::Node},
          {"NCCL_SOCKET_IFNAME", "=eth0", Source::Policy}};
}

LogVerification verify(const std::string& text, const std::string& index = "3") {
  return verify_lines(text, given(index));
}

const VerifiedValue& value_of(const LogVerification& verification, std::string_view name) {
  for (const VerifiedValue& value : verification.values) {
    if (value.name == name) return value;
  }
  throw std::runtime_error(std::string(name));
}

struct Line {
  std::string name;
  std::string text;
  Code code;
};

std::string verbs(const std::string& text) {
  return "misc/ibvwrap.cc:262 NCCL WARN Call to " + text;
}

std::string ib(const std::string& text) {
  return "transport/net_ib.cc:1295 NCCL WARN NET/IB : " + text;
}

std::string completion(const std::string& text) {
  return ib("Got completion from peer 10.0.0.2<44206> with " + text);
}

std::string connect(const std::string& error, const std::string& local) {
  return verbs("ibv_modify_qp failed with " + error +
               ", on dev mlx5_1:1, curr state INIT, next state RTR, local GID index 3, local GID " + local +
               ", remote GID ::ffff:10.0.0.2");
}

std::vector<Line> lines() {
  return {
      {"2_26_empty_row", connect("22 Invalid argument", "::"), Code::EmptyGid},
      {"2_28_empty_row_without_device", connect("19 No such device", "::"), Code::EmptyGid},
      {"2_28_empty_row_of_linux_6_1", connect("61 No data available", "::"), Code::EmptyGid},
      {"2_27_vanished", connect("61 No data available", "::ffff:10.0.0.1"), Code::GidVanished},
      {"2_27_no_route", connect("110 Connection timed out", "::ffff:10.0.0.1"), Code::NoRoute},
      {"2_29_unreachable", connect("101 Network is unreachable", "::ffff:10.0.0.1"), Code::NoRoute},
      {"2_26_link_local", connect("110 Connection timed out", "fe80::b83f:d2ff:feb4:f5a2"),
       Code::LinkLocalGid},
      {"2_26_no_netdev", connect("19 No such device", "::ffff:10.0.0.1"), Code::NoNetdev},
      {"2_26_infiniband",
       verbs("ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, "
             "next state RTR, local GID index -1, local GID N/A, remote GID N/A"),
       Code::NoRoute},
      {"2_21_by_error", verbs("ibv_modify_qp failed with error No such device errno 19"), Code::NoNetdev},
      {"2_18_without_a_number", verbs("ibv_modify_qp failed with error Network is unreachable"),
       Code::NoRoute},
      {"2_21_refused", verbs("ibv_modify_qp failed with error Invalid argument errno 22"),
       Code::ConnectFailed},
      {"2_18_completion", completion("error 12, opcode 0, len 0, vendor err 129 (Recv)"), Code::NoAnswer},
      {"hpcx_completion",
       "ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<44206> with status=12 "
       "opcode=129 len=65536 vendor err 129 (Recv) localGid ::ffff:29.87.88.182 remoteGids::ffff:29.87.4.221",
       Code::NoAnswer},
      {"2_26_link_local_completion",
       completion(
           "status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::1 remoteGidsfe80::2 hca mlx5_1"),
       Code::LinkLocalGid},
      {"2_29_completion_by_name",
       "transport/net_ib/p2p.cc:688 (ncclIbLogCompletionWithError) NCCL WARN NET/IB: Got completion from "
       "peer "
       "10.0.0.2<44206> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129  localGid "
       "::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_1",
       Code::NoAnswer},
      {"2_20_flushed", completion("status=5 opcode=32656 len=32659 vendor err 249 (Recv)"),
       Code::TransferFailed},
      {"2_21_event", ib("mlx5_3:1 Got async event : GID table change"), Code::GidTableChanged},
      {"2_23_event_by_number", ib("mlx5_3:1 unknown event type (18)"), Code::GidTableChanged},
      {"2_29_event", ib("mlx5_3:1 GID table changed"), Code::GidTableChanged},
      {"2_9_completion_without_a_peer", ib("Got completion with error 4, opcode 0, len 65536, vendor err 81"),
       Code::GpuMemory},
      {"2_24_remote_access", completion("status=10 opcode=0 len=0 vendor err 136 (Send)"),
       Code::RemoteAccess},
      {"2_24_port", ib("mlx5_7:1 Got async error event: port error"), Code::LinkDown},
      {"2_30_port", ib("mlx5_7:1 Got non-fatal async event: port error(10)"), Code::LinkDown},
      {"2_30_fatal", ib("mlx5_7:1 async fatal event: local catastrophic error"), Code::DeviceLost},
      {"memory_lock", verbs("ibv_create_cq failed with error Cannot allocate memory"), Code::MemoryLock},
      {"2_7_without_an_error", verbs("ibv_create_cq failed"), Code::MemoryLock},
      {"registration", verbs("ibv_reg_mr_iova2 failed with error Bad address errno 14"), Code::GpuMemory},
      {"connect",
       "misc/socket.cc:480 NCCL WARN socketStartConnect: Connect to 10.0.0.2<38007> failed : No route to "
       "host",
       Code::NoConnection},
      {"2_29_connect",
       "os/linux.cc:1 NCCL WARN ncclSocketPollConnect: connect to 10.0.0.2<38007> returned No route to "
       "host(113), exceeded error retry count after 35 attempts",
       Code::NoConnection},
      {"unequal", "init.cc:9 NCCL WARN Detected mixed local Net device counts across ranks (min 1, max 2).",
       Code::MissingRail},
      {"versions", "bootstrap.cc:9 NCCL WARN NCCL version mismatch with remote peer b (local: 1, remote 2)",
       Code::NcclVersionsDiffer},
      {"device", ib("Unable to open device mlx5_2"), Code::DeviceNotOpened},
      {"2_24_type",
       "transport/net_ib.cc:378 NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument",
       Code::GidTypeUnreadable},
      {"incompatible",
       ib("Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE. Try selecting "
          "NICs "
          "of only one link type using NCCL_IB_HCA"),
       Code::MixedLinks},
      {"interface", "bootstrap.cc:86 NCCL WARN Bootstrap : no socket interface found", Code::NoInterface},
      {"stranger", "misc/socket.cc:609 NCCL WARN socketFinalizeAccept: wrong magic 7 != 9",
       Code::StrangerConnected},
      {"network", "net.cc:1026 NCCL WARN Error: network AWS Libfabric not found.", Code::NetworkNotFound},
      {"2_27_network", "plugin/net.cc:349 NCCL WARN Failed to initialize any NET plugin",
       Code::NetworkNotFound},
      {"library", "NCCL INFO Failed to open libibverbs.so[.1]", Code::NoVerbsLibrary},
      {"progress", "NCCL INFO proxy.cc:694 -> 6 [Progress Thread]", Code::GaveUp},
      {"async", "NCCL INFO group.cc:64 -> 3 [Async thread]", Code::GaveUp},
      {"init", "NCCL INFO /rccl/hipify/src/init.cc:1303 -> 2", Code::GaveUp},
  };
}

class FailureLine : public ::testing::TestWithParam<Line> {};

TEST_P(FailureLine, IsReadWithWhatItSays) {
  const NcclLog log =
      read_lines("gpu-1:984:1357 [4] NCCL INFO cudaDriverVersion 12040\n" + kWarn + GetParam().text + "\n");
  ASSERT_THAT(log.failures, SizeIs(1));
  EXPECT_EQ(to_string(log.failures[0].code), to_string(GetParam().code));
  expect_golden(GetParam().text, describe(log.failures[0]));
  EXPECT_EQ(log.failures[0].line, 2u);
  EXPECT_THAT(log.warnings, IsEmpty());
}

TEST_P(FailureLine, NeverReadsAsGood) {
  const LogVerification verification = verify(kWarn + GetParam().text + "\n");
  EXPECT_FALSE(is_good(verification.findings));
  EXPECT_TRUE(verification.sentence.ends_with(words_of(GetParam().code).remedy)) << verification.sentence;
}

TEST_P(FailureLine, CutAnywhereHasWordsAndBounds) {
  for (std::size_t end = 0; end < GetParam().text.size(); ++end) {
    const NcclLog log = read_lines(kWarn + GetParam().text.substr(0, end) + "\n");
    ASSERT_LE(log.failures.size(), 1u);
    for (const NcclFailure& failure : log.failures) EXPECT_THAT(describe(failure), Not(IsEmpty()));
    const NcclLog longer = read_lines(kWarn + GetParam().text.substr(0, end) + std::string(3000, 'x') + "\n");
    for (const NcclFailure& failure : longer.failures) {
      EXPECT_LE(failure.text.size(), 512u);
      EXPECT_LE(std::max({failure.device.size(), failure.peer.size(), failure.network.size()}), 128u);
      EXPECT_LE(std::max(failure.local_gid.size(), failure.remote_gid.size()), 128u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(NcclFailure, FailureLine, ::testing::ValuesIn(lines()),
                         [](const auto& each) { return "L" + each.param.name; });

TEST(NcclFailure, AnEmptyRowNamesTheIndexThatThePodWasGiven) {
  const std::string log = "gpu-1:984:1357 [4] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n" +
                          kWarn + connect("22 Invalid argument", "::") + "\n";
  const LogVerification verification = verify(log);
  ASSERT_THAT(verification.failures, SizeIs(1));
  EXPECT_EQ(verification.failures[0].variable, "NCCL_IB_GID_INDEX");
  EXPECT_EQ(verification.failures[0].value, "3");
  EXPECT_TRUE(verification.failures[0].of_pod);
  const VerifiedValue& index = value_of(verification, "NCCL_IB_GID_INDEX");
  EXPECT_EQ(index.verdict, LogVerdict::Failed);
  EXPECT_EQ(index.line, 2u);
  expect_golden(log, render_text(verification, read_lines(log)));
}

TEST(NcclFailure, ATryThatIsRepeatedIsNoFailureYet) {
  std::string retry = connect("110 Connection timed out", "::ffff:10.0.0.1");
  retry.replace(retry.find("WARN"), 4, "INFO");
  const LogVerification verification = verify(kWarn + retry + ", retrying 1/35 after 100 msec of sleep\n");
  ASSERT_THAT(verification.failures, SizeIs(1));
  EXPECT_TRUE(verification.failures[0].failure.retried);
  EXPECT_TRUE(is_good(verification.findings));
  const std::string both = kWarn + retry + ", retrying 1/35 after 100 msec of sleep\n" + kWarn +
                           connect("110 Connection timed out", "::ffff:10.0.0.1") + "\n";
  EXPECT_FALSE(is_good(verify(both).findings));
}

TEST(NcclFailure, LinksOfBothKindsInOneLogAreOne) {
  const std::string mixed =
      "gpu-1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE [1]mlx5_2:1/IB [RO]; OOB eth0:10.0.0.1<0>\n";
  const LogVerification verification = verify(mixed);
  ASSERT_THAT(verification.failures, SizeIs(1));
  EXPECT_EQ(verification.failures[0].failure.code, Code::MixedLinks);
  EXPECT_EQ(value_of(verification, "NCCL_IB_HCA").verdict, LogVerdict::Failed);
  const std::string apart =
      "gpu-1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE [RO]; OOB ib0:10.0.0.1<0>\n"
      "gpu-2:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1:0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n";
  EXPECT_EQ(verify(apart).failures.at(0).failure.line, 2u);
  const std::string one_kind =
      "gpu-1:1:1 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} ; OOB "
      "ib0:10.0.0.1<0>\n";
  EXPECT_THAT(verify(one_kind).failures, IsEmpty());
}

TEST(NcclFailure, TheJsonIsTyped) {
  const std::string log = kWarn + connect("22 Invalid argument", "::") + "\n";
  const auto json = to_json(verify(log), read_lines(log));
  EXPECT_EQ(json["good"], false);
  const auto& failure = json["failures"].at(0);
  EXPECT_EQ(failure["code"], "EmptyGid");
  EXPECT_EQ(failure["line"], 1);
  EXPECT_EQ(failure["device"], "mlx5_1");
  EXPECT_EQ(failure["port"], 1);
  EXPECT_EQ(failure["gidIndex"], 3);
  EXPECT_EQ(failure["localGid"], "::");
  EXPECT_EQ(failure["error"], 22);
  EXPECT_EQ(failure["counts"], true);
  EXPECT_EQ(failure["cause"]["name"], "NCCL_IB_GID_INDEX");
  EXPECT_TRUE(failure["peer"].is_null());
  EXPECT_EQ(json["values"][1]["verdict"], "failed");
}

// Words of the log reach a terminal.
TEST(NcclFailure, HostileWordsAreBoundedAndPrintable) {
  const std::string log = kWarn + "x.cc:1 NCCL WARN NET/IB : Unable to open device \x1b[31m\n" + kWarn +
                          "x.cc:1 NCCL WARN Error: network \x1b[31m" + std::string(60000, 'x') +
                          " not found.\n";
  const NcclLog read_log = read_lines(log);
  ASSERT_THAT(read_log.failures, SizeIs(2));
  EXPECT_EQ(read_log.failures[0].device, "");
  EXPECT_LE(read_log.failures[1].network.size(), 64u);
  EXPECT_EQ(render_text(verify(log), read_log).find('\x1b'), std::string::npos);
}

TEST(NcclFailure, ThousandsOfThemAreBounded) {
  NcclLogReader reader;
  for (int i = 0; i < 20000; ++i)
    reader.read_line("h:1:1 [0] x.cc:1 NCCL WARN NET/IB : Unable to open device d" + std::to_string(i));
  EXPECT_EQ(reader.log().failures.size(), 256u);
}

// NCCL opens each device before it looks at its list.
TEST(NcclFailure, ADeviceThatNoListNamesIsNotMissed) {
  const auto is_good_with = [](const std::string& list) {
    const std::string info = "h:1:1 [0] NCCL INFO ";
    return is_good(verify_lines(info + "NCCL_IB_HCA set to " + list + "\n" + kWarn +
                                "x.cc:1 NCCL WARN NET/IB : Unable to open device mlx5_1\n" + info +
                                "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n")
                       .findings);
  };
  EXPECT_TRUE(is_good_with("=mlx5_0"));
  EXPECT_FALSE(is_good_with("=mlx5_0,mlx5_1"));
  EXPECT_FALSE(is_good_with("mlx5")) << "by a prefix";
}

std::string comm(int nodes, int ranks) {
  return "gpu-1:1:2 [0] NCCL INFO comm 0x55d9607ee240 rank 0 nRanks " + std::to_string(ranks) + " nNodes " +
         std::to_string(nodes) + " localRanks 8 localRank 0 MNNVL 0\n";
}

TEST(NcclSockets, OnOneNodeAreNoFallBack) {
  const std::string socket = "gpu-1:1:2 [0] NCCL INFO Using network Socket\n";
  const LogVerification one = verify(socket + comm(1, 8));
  EXPECT_FALSE(one.fell_back);
  expect_golden(socket + comm(1, 8), one.notes.at(0));
  EXPECT_TRUE(verify(socket + comm(2, 16)).fell_back);
  EXPECT_TRUE(verify(socket + comm(2, 16) + comm(1, 8)).fell_back) << "a smaller group beside it";
  EXPECT_TRUE(verify(socket).fell_back) << "nothing says how many nodes there are";
  // Before 2.20 a process group does not tell its nodes: they are known by their ranks.
  const auto rank = [](int number, int of) {
    return "gpu-1:10" + std::to_string(number) + ":2 [0] NCCL INFO comm 0x55d9607ee240 rank " +
           std::to_string(number) + " nranks " + std::to_string(of) +
           " cudaDev 0 nvmlDev 0 busId 61000 commId 0x1 - Init START\n";
  };
  EXPECT_FALSE(verify(socket + rank(0, 2) + rank(1, 2)).fell_back);
  EXPECT_TRUE(verify(socket + rank(0, 4) + rank(1, 4)).fell_back) << "the others are elsewhere";
}

TEST(NcclNames, OfLevelsAreTheirNumbers) {
  const auto verdict = [](const std::string& variable, const std::string& value, const std::string& logged) {
    const NcclLog log =
        read_lines("gpu-1:1:2 [0] NCCL INFO " + variable + " set by environment to " + logged + "\n");
    return std::string(to_string(
        verify_log(log, {{.name = variable, .value = value, .source = Source::Policy, .container = "c"}})
            .values.at(0)
            .verdict));
  };
  EXPECT_EQ(verdict("NCCL_NET_GDR_LEVEL", "1", "PIX"), "used");
  EXPECT_EQ(verdict("NCCL_P2P_LEVEL", "5", "SYS"), "used");
  EXPECT_EQ(verdict("NCCL_P2P_LEVEL", "SYS", "SYS"), "used");
  EXPECT_EQ(verdict("NCCL_NET_GDR_LEVEL", "2", "PIX"), "overridden");
  EXPECT_EQ(verdict("NCCL_P2P_DISABLE", "0", "0"), "used");
}

TEST(NcclVersions, OfRcclAndOfOldAndNewOnesAreTold) {
  EXPECT_THAT(verify("RCCL version : 2.22.3-HEAD:6bfc0dd\ngpu-1:1:2 [0] NCCL INFO Using network IB\n").notes,
              IsEmpty());
  EXPECT_TRUE(
      read_lines("RCCL version : 2.22.3-HEAD:6bfc0dd\n").versions.contains("RCCL 2.22.3-HEAD:6bfc0dd"));
  const auto notes = [](const std::string& version) {
    return verify("NCCL version " + version + "\n").notes;
  };
  for (const char* odd : {"2.5.6+cuda10.0", "2.33.1+cuda13.0", "2.99.1+cuda14.0"}) {
    ASSERT_THAT(notes(odd), SizeIs(1)) << odd;
    expect_golden(odd, notes(odd)[0]);
  }
  for (const char* known : {"2.18.1+cuda12.1", "2.32.3+cuda13.0"})
    EXPECT_THAT(notes(known), IsEmpty()) << known;
}

TEST(NcclGidTable, ThatChangesIsNoFailureWhereNcclFindsItsRowAgain) {
  const std::string changed = "gpu-1:1:2 [0] NCCL WARN NET/IB : mlx5_3:1 GID table changed\n";
  const std::string new_one = "NCCL version 2.31.2+cuda13.0\n", old_one = "NCCL version 2.30.7+cuda13.0\n";
  const std::string network = "gpu-1:1:2 [0] NCCL INFO Using network IB\n";
  EXPECT_TRUE(is_good(verify(new_one + network + changed, "-1").findings));
  EXPECT_TRUE(is_good(verify(new_one + network + changed, "").findings))
      << render_text(verify(new_one + network + changed, ""), read_lines(new_one + network + changed));
  EXPECT_FALSE(is_good(verify(new_one + changed, "3").findings)) << "an index is forced";
  EXPECT_FALSE(is_good(
      verify(new_one + changed + "gpu-1:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 5.\n", "-1")
          .findings))
      << "by the user";
  EXPECT_FALSE(is_good(verify(old_one + changed, "-1").findings));
  EXPECT_FALSE(is_good(verify(old_one + new_one + changed, "-1").findings)) << "one process is old";
  EXPECT_FALSE(is_good(verify(changed, "-1").findings)) << "not known";
  EXPECT_FALSE(is_good(
      verify(new_one + changed + "gpu-1:1:2 [0] NCCL INFO group.cc:64 -> 3 [Async thread]\n", "-1").findings))
      << "it does not explain that NCCL gave up";
}

std::string told(std::string_view line) {
  const auto failure = read_framework_failure(line);
  return failure ? std::string(to_string(failure->code)) + ": " + describe(*failure) : std::string();
}

TEST(FrameworkFailure, OfNcclTestsHasNcclsLastWarningBehindItsSlash) {
  const std::string failed = "m: Test NCCL failure common.cu:959 '";
  EXPECT_EQ(told(failed + "internal error - please report this issue to the NCCL developers / '"),
            "GaveUp: result 3 internal error");
  EXPECT_EQ(told(failed + "remote process exited or there was a network error'"),
            "GaveUp: result 6 remote process exited or network error");
  EXPECT_EQ(told(failed + "internal error / Bootstrap : no socket interface found'"),
            "NoInterface: Bootstrap : no socket interface found");
  EXPECT_FALSE(read_framework_failure(failed + "no error'"));
  EXPECT_FALSE(read_framework_failure(failed));
}

}  // namespace
}  // namespace nccl_env::nccl_failure_test
