// SPDX-License-Identifier: Apache-2.0
// The diagnosis comes first: logs as people posted them (tests/data/logs), and the states between well and
// ill.
#include "nccl_env/judge/nccl_log/log_verify.h"
#include "nccl_env/judge/nccl_log/log_print.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "judge/nccl_log/verify_lines.h"
#include "support/golden.h"
#include "support/memory/allocated.h"
#include "support/places.h"

namespace nccl_env::log_verify_test {
namespace {

using namespace nccl_env::tests;

std::string first_code(const std::string& text) {
  const LogVerification verification = verify_lines(text);
  return verification.findings.empty() ? "" : std::string(to_string(verification.findings.front().code));
}

const std::string kFolder = in_source("/tests/data/logs/");

struct Case {
  std::string log;
  std::vector<std::string> codes;  // one of them is named
  bool good = false, nothing = false;
  std::string words;  // of the cause as its thread tells it, in those lines
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.log;
}

std::vector<Case> cases() {
  std::ifstream file(kFolder + "cases.tsv");
  std::vector<Case> all;
  std::string line;
  std::getline(file, line);  // the head
  while (std::getline(file, line)) {
    std::istringstream columns(line);
    std::string log, source, codes, answer, words, code;
    std::getline(columns, log, '\t');
    std::getline(columns, source, '\t');
    std::getline(columns, codes, '\t');
    std::getline(columns, answer, '\t');
    std::getline(columns, words, '\t');
    Case one{log, {}, answer != "bad", answer == "nothing", words};
    std::istringstream names(codes);
    while (std::getline(names, code, ',')) {
      if (code != "-") one.codes.push_back(code);
    }
    all.push_back(std::move(one));
  }
  return all;
}

class PostedLog : public ::testing::TestWithParam<Case> {};

TEST_P(PostedLog, IsDiagnosedInItsFirstThreeLines) {
  std::ifstream file(kFolder + GetParam().log);
  const NcclLog log = read_lines(file);
  EXPECT_EQ(log.speaks(), !GetParam().nothing);
  const LogVerification verification = verify_log(log, {});
  EXPECT_EQ(is_good(verification.findings), GetParam().good) << verification.sentence;
  std::istringstream text(render_text(verification, log));
  std::string line, three;
  for (int i = 0; i < 3 && std::getline(text, line); ++i) three += line + " ";
  EXPECT_THAT(three, HasSubstr(GetParam().words));
  EXPECT_EQ(GetParam().codes.empty(), GetParam().good);
  const auto named = [&](const std::string& code) {
    return three.find(code + ":") != three.npos || three.find(code + ",") != three.npos;
  };
  if (!GetParam().good) {
    EXPECT_TRUE(std::ranges::any_of(GetParam().codes, named)) << three;
    EXPECT_THAT(verification.sentence, Not(HasSubstr("Nothing to do")));
  }
}

std::string json_line(const std::string& line, const char* member) {
  return nlohmann::json({{member, line}, {"time", "2026-11-27T10:00:00.5Z"}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// As runtimes, collectors, launchers and terminals hand it over.
TEST_P(PostedLog, IsReadAlikeHoweverItIsWrapped) {
  using Wrap = std::string (*)(const std::string&);
  constexpr Wrap kWraps[] = {
      [](const std::string& line) { return json_line(line + "\n", "log"); },
      [](const std::string& line) { return "2026-11-27T10:00:00.123456789Z stderr F " + line; },
      [](const std::string& line) { return " 0: " + line; },
      [](const std::string& line) { return "worker-1  | " + line; },
      [](const std::string& line) { return "[default0]:" + line; },
      [](const std::string& line) { return "\x1b[36m(Worker pid=7)\x1b[0m " + line; }};
  std::ifstream file(kFolder + GetParam().log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::set<std::string> told;
  for (const Wrap wrap : kWraps) {
    std::string text;
    for (const std::string& line : lines) text += wrap(line) + "\n";
    const LogVerification verification = verify_lines(text);
    EXPECT_EQ(is_good(verification.findings), GetParam().good) << wrap("");
    told.insert(first_code(text));
  }
  EXPECT_EQ(told.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Logs, PostedLog, ::testing::ValuesIn(cases()), [](const auto& with) {
  std::string name = with.param.log;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(PostedLogs, EachFileIsInTheTable) {
  std::set<std::string> named{"cases.tsv"};
  for (const Case& one : cases()) named.insert(one.log);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    EXPECT_TRUE(named.contains(entry.path().filename().string())) << entry.path();
}

const std::string kInfo = "n:1:1 [0] NCCL INFO ", kWarn = "n:1:1 [0] x.cc:1 NCCL WARN ";

TEST(Cause, ComesBeforeWhatFollowsWhereverItStands) {
  const std::string closed = kWarn + "Connection closed by remote peer b<1>\n",
                    gave_up = kInfo + "init.cc:9 -> 6\n";
  const std::string shm =
      kWarn + "Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: No space left on device (28)\n";
  EXPECT_EQ(first_code(closed + gave_up), "PeerClosed") << "nothing else is known";
  EXPECT_EQ(first_code(closed + gave_up + shm), "SharedMemory");
  EXPECT_EQ(first_code(shm + closed + gave_up), "SharedMemory");
  EXPECT_THAT(verify_lines(closed + shm).sentence, HasSubstr("It may have led to PeerClosed in line 1."));
  const std::string unknown = kWarn + "never seen\n";
  EXPECT_EQ(first_code(closed + unknown + gave_up), "UnknownWarning");
  EXPECT_EQ(first_code(unknown + closed + shm), "SharedMemory");
}

TEST(LinkDown, OfAJobThatEndedCountsUntilThePortComesBack) {
  const auto port = [](const std::string& event) {
    return kWarn + "NET/IB : mlx5_7:1 Got async event: " + event + "\n";
  };
  const std::string end = kInfo + "comm 0x1 rank 0 nranks 16 - Destroy COMPLETE\n";
  const std::string down = port("port error"), up = port("port active");
  EXPECT_EQ(first_code(down + end), "LinkDown");
  EXPECT_EQ(first_code(down + up + down + end), "LinkDown");
  EXPECT_TRUE(is_good(verify_lines(down + up + down + up + end).findings));
  EXPECT_THAT(verify_lines(down + up + end).sentence, Not(HasSubstr("Nothing to do")));
}

TEST(LinkDown, TellsTheDeviceWhoseRecoveryWasGivenUp) {
  const auto failed = [](const std::string& answer) {
    return kWarn +
           "NET/IB: ncclIbResiliencyHandleDeviceFailure: Device 1 marked as failed. Initiating recovery? " +
           answer + " (send comm=0x7, outstandingRecovery=0)\n";
  };
  const auto uses = [](const std::string& host, const std::string& second) {
    return host + ":1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]" + second +
           ":1/RoCE [RO]; OOB bond0:10.9.0.5<0>\n";
  };
  EXPECT_THAT(verify_lines(uses("n", "mlx5_5") + failed("Yes")).sentence,
              HasSubstr("mlx5_5: device 1 failed, and NCCL begins its recovery."));
  EXPECT_THAT(verify_lines(uses("n", "mlx5_5") + failed("Yes") + failed("No")).sentence,
              HasSubstr("mlx5_5: device 1 failed, and its recovery was given up at last (2 times)."));
  EXPECT_THAT(verify_lines(uses("n", "mlx5_5") + uses("m", "mlx5_6") + failed("No")).sentence,
              HasSubstr(": device 1 failed"))
      << "hosts number other devices";
}

TEST(Completion, ThatDidNotFitIsNoConsequenceOfAnotherRanksEnd) {
  const auto failed = [](const std::string& status) {
    return kWarn + "NET/IB: Got completion from peer 10.9.0.6<1> with " + status + " vendor err 105 (Recv)\n";
  };
  const std::string ended = "ValueError: no such file\n";
  for (const std::string status : {"status=1 opcode=128 len=0", "error 1, opcode 128, len 0,",
                                   "status=IBV_WC_LOC_LEN_ERR(1) opcode=IBV_WC_RECV(128) len=0"}) {
    EXPECT_THAT(verify_lines(ended + failed(status)).sentence,
                StartsWith("TransferFailed: A message did not fit"));
  }
  EXPECT_THAT(verify_lines(ended + failed("status=11 opcode=0 len=0")).sentence,
              StartsWith("EndedElsewhere"));
}

TEST(ValueRead, OutOfItsBoundsIsTheFirstLeadOfATransfer) {
  const auto read = [](const std::string& name, const std::string& value) {
    return kInfo + name + " set by environment to " + value + ".\n";
  };
  const std::string failed =
      kWarn + "NET/IB: Got completion from peer 10.9.0.6<1> with status=12 opcode=1 len=0\n";
  EXPECT_THAT(
      verify_lines(read("NCCL_IB_TIMEOUT", "1000") + failed).sentence,
      AllOf(StartsWith("NoAnswer: line 1: NCCL_IB_TIMEOUT: \"1000\" is outside 1..31"),
            HasSubstr("Write a number from 1 to 31 in NCCL_IB_TIMEOUT"), Not(HasSubstr("NCCL_IB_TC"))));
  EXPECT_THAT(verify_lines(read("NCCL_IB_PCI_RELAXED_ORDERING", "9") + failed).sentence,
              HasSubstr("NCCL_IB_TC"))
      << "another variable's value leaves the remedy of the failure";
  EXPECT_THAT(verify_lines(read("NCCL_IB_TIMEOUT", "22") + read("NCCL_IB_RETRY_CNT", "7") + failed).sentence,
              StartsWith("NoAnswer: The peer did not acknowledge"));
  EXPECT_EQ(first_code(read("NCCL_IB_QPS_PER_CONNECTION", "300")), "ValueMisread");
  EXPECT_THAT(verify_lines(read("NCCL_IB_RETRY_CNT", "10")).sentence,
              EndsWith("Write a number from 0 to 7 in NCCL_IB_RETRY_CNT, or leave it out."));
  EXPECT_EQ(first_code(read("NCCL_IB_QPS_PER_CONNECTION", "4") + read("NCCL_IB_TIMEOTU", "1000")), "")
      << "a plugin may read what is not known here";
}

TEST(Hosts, OfOneLogAreComparedAsFilesAre) {
  const auto host = [](const std::string& name, const std::string& interface, const std::string& more = {}) {
    const std::string prefix = name + ":1:1 [0] NCCL INFO ";
    return prefix + "Bootstrap : Using " + interface + "<0>\n" + prefix +
           "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB " + interface + "<0>\n" + prefix +
           "Using network IB\n" + (more.empty() ? "" : prefix + more + "\n");
  };
  const std::string two = host("w0", "bond0:10.9.0.10") + host("w1", "bond0:10.9.0.11");
  EXPECT_EQ(first_code(two + host("w2", "eno2:192.168.122.12")), "UnreachableInterface");
  EXPECT_EQ(first_code(two + host("w2", "bond0:10.8.0.12")), "") << "alike by name: routed";
  EXPECT_EQ(first_code(two + host("w2", "bond1:10.9.0.12")), "") << "one network";
  EXPECT_EQ(first_code(two + host("w2", "bond0:10.9.0.12", "NCCL_IB_PKEY set by environment to 1.") +
                       host("w3", "bond0:10.9.0.13", "NCCL_IB_PKEY set by environment to 2.")),
            "ValuesDiffer");
  const std::string complete = "comm 0x5 rank 0 nranks 3 cudaDev 0 busId 1 - Init COMPLETE";
  EXPECT_TRUE(is_good(verify_lines(two + host("w2", "eno2:192.168.122.12", complete)).findings))
      << "they met";
}

TEST(HarmlessWarning, IsAFailureOnceATraceOfItsThreadFollows) {
  const std::string harmless = kWarn + "NCCL_NET_MERGE_POLICY: unknown value 'x', defaulting to ALL\n";
  const std::string network = kInfo + "Using network IB\n";
  EXPECT_TRUE(is_good(verify_lines(harmless + network).findings));
  EXPECT_TRUE(is_good(verify_lines(harmless + "n:1:2 [0] NCCL INFO topo.cc:9 -> 3\n" + network).findings))
      << "another thread's";
  EXPECT_TRUE(is_good(verify_lines(harmless + network + kInfo + "topo.cc:9 -> 3\n").findings))
      << "not behind it";
  EXPECT_EQ(first_code(harmless + kInfo + "topo.cc:9 -> 3\n"), "UnknownWarning");
  EXPECT_THAT(verify_lines(harmless + network).sentence, Not(HasSubstr("Nothing to do")));
}

TEST(LastError, IsReadOnlyBehindAnErrorOfNccl) {
  const std::string last = "Last error:\nUnable to allocate shared memory\n";
  const std::string error =
      "DistBackendError: NCCL error in: x.cpp:1, unhandled system error\nncclSystemError: y\n";
  EXPECT_EQ(first_code(error + last), "SharedMemory");
  EXPECT_EQ(first_code(error + "Last error:\n\nTraceback\n"), "GaveUp");
  EXPECT_EQ(first_code("some program's\n" + last), "");
  EXPECT_EQ(read_lines(last).nccl_lines, 0u);
}

TEST(UnreachableInterface, CountsUntilRanksHaveMetOverIt) {
  const std::string docker = kInfo + "Bootstrap : Using docker0:172.17.0.1<0>\n";
  const std::string start = kInfo + "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Init START\n";
  const std::string end = kInfo + "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n";
  EXPECT_EQ(first_code(docker + start), "UnreachableInterface");
  EXPECT_TRUE(is_good(verify_lines(docker + start + end).findings));
  EXPECT_EQ(first_code(kInfo + "Bootstrap : Using eth0:10.0.0.1<0>\n" + start), "InitNotEnded");
  EXPECT_EQ(first_code(kInfo + "Bootstrap : Using eth0:10.0.0.1<0>\n" + start + end), "");
  EXPECT_EQ(first_code(kInfo + "Bootstrap : Using eth0:fe80::1%eth0<0>\n" + start + end), "");
}

TEST(PartlyUsed, IsTheListThatThePodWasGivenOrThatNcclReads) {
  const std::string uses = kInfo + "NET/IB : Using [0]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n";
  const std::vector<Value> given{{"NCCL_IB_HCA", "=mlx5_1,mlx5_2", Source::Node}};
  const LogVerification partly = verify_lines(uses, given);
  EXPECT_EQ(partly.values.at(0).verdict, LogVerdict::PartlyUsed);
  ASSERT_THAT(partly.findings, SizeIs(1));
  EXPECT_EQ(partly.findings[0].code, Code::PartlyUsed);
  EXPECT_THAT(partly.sentence, Not(HasSubstr("Nothing to do")));
  const std::string own = kInfo + "NCCL_IB_HCA set to =mlx5_1,mlx5_2\n",
                    failed = kWarn +
                             "NET/IB : Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0\n";
  const NcclLog both = read_lines(own + uses + failed);
  EXPECT_THAT(render_text(verify_log(both, {}), both),
              AllOf(HasSubstr("NoAnswer: "), HasSubstr("not mlx5_2 (down")));
  const auto reads = [&](const std::string& list) {
    return first_code(kInfo + "NCCL_IB_HCA set to " + list + "\n" + uses);
  };
  EXPECT_EQ(reads("=mlx5_1,mlx5_2"), "PartlyUsed");
  EXPECT_EQ(reads("mlx5_1,mlx6"), "PartlyUsed");
  for (const char* whole : {"mlx5", "^mlx5_2", "=mlx5_1:1"}) EXPECT_EQ(reads(whole), "");
}

TEST(FellBack, BeginsWithWhatStandsInPlaceOfThePodsList) {
  const std::string none = kInfo + "NCCL_IB_HCA set to =mlx5_9\n" + kInfo + "NET/IB : No device found.\n";
  const auto told = [&](const std::string& list) {
    return verify_lines(none, {{"NCCL_IB_HCA", list, Source::Node}}).sentence;
  };
  EXPECT_THAT(told("=mlx5_0"),
              HasSubstr("it found no device of NCCL_IB_HCA=\"=mlx5_9\" (line 1), which was set "
                        "in place of the pod's list."));
  EXPECT_THAT(told("=mlx5_0"), HasSubstr("Look first at what sets the list anew"));
  EXPECT_THAT(told("=mlx5_9"), HasSubstr("look first whether the pod has those devices"));
}

TEST(EmptyGid, OfAPodTellsWhoseTheIndexIs) {
  const std::string text =
      kInfo + "NCCL_IB_GID_INDEX set by environment to 7.\n" + kWarn +
      "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_0:1, curr state "
      "INIT, next state RTR, local GID index 7, local GID ::, remote GID ::\n";
  EXPECT_THAT(verify_lines(text).sentence, HasSubstr("nothing shows that it is nccl-env's."));
  EXPECT_THAT(verify_lines(text, {{"NCCL_IB_HCA", "=mlx5_0", Source::Node}}).sentence,
              HasSubstr("is not among the values that nccl-env gave the pod."));
}

TEST(NcclTooOld, IsTheFirstAnswerWhereAPodHasOurListAndNoIndex) {
  const std::string uses =
      kInfo + "NET/IB : Using [0]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n" + kWarn +
      "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state INIT, "
      "next state RTR, local GID index 0, local GID fe80::1, remote GID fe80::2\n";
  const Value list{.name = "NCCL_IB_HCA", .value = "=mlx5_1", .source = Source::Node, .container = "c"};
  const Value index{.name = "NCCL_IB_GID_INDEX", .value = "3", .source = Source::Node, .container = "c"};
  const auto first = [&](const std::string& version, const std::vector<Value>& spec) {
    return std::string(
        to_string(verify_lines("NCCL version " + version + "\n" + uses, spec).findings.front().code));
  };
  EXPECT_EQ(first("2.19.3+cuda12.3", {list}), "NcclTooOld");
  const std::string text = "NCCL version 2.19.3+cuda12.3\n" + uses;
  EXPECT_THAT(verify_lines(text, {list}).sentence, ::testing::HasSubstr("gidIndex: Pin"));
  EXPECT_EQ(first("2.21.5+cuda12.4", {list}), "LinkLocalGid");
  EXPECT_EQ(first("2.19.3+cuda12.3", {list, index}), "LinkLocalGid");
  EXPECT_EQ(first("2.19.3+cuda12.3", {}), "LinkLocalGid") << "nobody counts on a search";
}

// Nobody but the log knows what an image sets.
TEST(ImageIndex, IsAnIndexThatThePodsSpecDoesNotSetBesideOurList) {
  const std::string reads = kInfo + "NCCL_IB_GID_INDEX set by environment to 3.\n" + kInfo +
                            "NCCL_IB_HCA set to =mlx5_1\n" + kInfo +
                            "NET/IB : Using [0]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n";
  const Value list{.name = "NCCL_IB_HCA", .value = "=mlx5_1", .source = Source::Node, .container = "c"};
  const Value own{.name = "NCCL_IB_GID_INDEX", .value = "3", .state = State::Users, .container = "c"};
  const LogVerification image = verify_lines(reads, {list});
  ASSERT_THAT(image.findings, SizeIs(1));
  EXPECT_EQ(image.findings[0].code, Code::ImageIndex);
  EXPECT_FALSE(is_good(image.findings));
  expect_golden("an index, and nothing else", render_text(image, read_lines(reads)));
  EXPECT_THAT(verify_lines(reads, {list, own}).findings, SizeIs(0)) << "the pod's spec sets it";
  EXPECT_THAT(verify_lines(reads, {list, own}).values, SizeIs(1)) << "users' values are not judged";
  EXPECT_THAT(verify_lines(reads).findings, SizeIs(0)) << "a pod without our list";
  const std::string used = reads + kInfo + "NET/IB: Dev 0 Port 1 qpn 12 mtu 5 GID 3 (0/1)\n";
  const LogVerification proven = verify_lines(used, {list});
  EXPECT_TRUE(is_good(proven.findings)) << "it works on this node";
  EXPECT_EQ(proven.findings.at(0).code, Code::ImageIndex);
  expect_golden("queue pairs have it", render_text(proven, read_lines(used)));
  const std::string failed =
      used + kWarn +
      "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state INIT, next "
      "state "
      "RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.0.2\n";
  EXPECT_FALSE(is_good(verify_lines(failed, {list}).findings));
  const std::string searched = kInfo + "NCCL_IB_GID_INDEX set by environment to -1.\n" + kInfo +
                               "NCCL_SOCKET_IFNAME set by environment to eth0\n";
  EXPECT_TRUE(is_good(verify_lines(searched, {list}).findings)) << "-1 is a search";
  expect_golden("further variables", render_text(verify_lines(searched, {list}), read_lines(searched)));
}

std::string event(const std::string& device, const std::string& process = "n:1:1") {
  return process + " [0] x.cc:1 NCCL WARN NET/IB : " + device + ":1 Got async event : port error\n";
}
std::string completion(const std::string& device, const std::string& process = "n:1:1",
                       const std::string& peer = "10.0.0.2") {
  return process + " [0] x.cc:1 NCCL WARN NET/IB : Got completion from peer " + peer +
         "<4711> with status=12 opcode=0 len=0 vendor err 129 (Recv)" +
         (device.empty() ? "" : " hca " + device) + "\n";
}

TEST(PortsEvent, IsTheCauseOfTheErrorOfItsDevice) {
  const auto sentence = [](const std::string& text) { return verify_lines(text).sentence; };
  expect_golden("the same device", sentence(event("mlx5_3") + completion("mlx5_3")));
  expect_golden("of two the one of the error",
                sentence(event("mlx5_1") + event("mlx5_3") + completion("mlx5_3")));
  expect_golden("another device", sentence(event("mlx5_1") + completion("mlx5_3")));
  expect_golden("a device that is not named", sentence(event("mlx5_1") + completion("")));
  EXPECT_THAT(sentence(completion("mlx5_3") + event("mlx5_3")), HasSubstr("It may have led to NoAnswer"))
      << "it came later";
  EXPECT_THAT(sentence(event("mlx5_3", "n:2:2") + completion("")), HasSubstr("It may have led to NoAnswer"))
      << "another process, of which nothing is known";
  const std::string other = "m:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n";
  expect_golden("the peer of the error, by its address",
                sentence(other + event("mlx5_5", "m:7:7") + completion("mlx5_3")));
  EXPECT_THAT(sentence(event("mlx5_5", "node-b:7:7") + completion("", "n:1:1", "node-b")),
              HasSubstr("whose peer node-b<4711> had it"));
}

// Each host's part of the log must not hold the processes of all.
TEST(LogVerify, TheHostsOfALargeJobAreComparedInLittleMemory) {
  std::string text;
  for (int process = 0; process < 4096; ++process) {
    const std::string number = std::to_string(process), host = "w" + std::to_string(process / 8);
    for (const char* line : {"NCCL version 2.21.5+cuda12.4", "Bootstrap : Using eth0:10.0.0.1<0>",
                             "NCCL_IB_TIMEOUT set by environment to 22.", "Using network IB"})
      text.append(host)
          .append(":")
          .append(number)
          .append(":")
          .append(number)
          .append(" [0] NCCL INFO ")
          .append(line)
          .append("\n");
  }
  const NcclLog log = read_lines(text);
  ASSERT_EQ(log.hosts, 512U);
  EXPECT_LT(tests::peak_of([&] { verify_log(log, {}); }), 16 << 20);
}

}  // namespace
}  // namespace nccl_env::log_verify_test
