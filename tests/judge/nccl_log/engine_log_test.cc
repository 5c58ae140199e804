// SPDX-License-Identifier: Apache-2.0
// Lines of UCX and NVSHMEM, as their sources print them (engine_log.h names the files).
#include "nccl_env/judge/nccl_log/engine_log.h"

#include "judge/nccl_log/verify_lines.h"

namespace nccl_env::engine_log_test {
namespace {

using namespace nccl_env::tests;

std::string ucx(const std::string& level, const std::string& message) {
  return "[1764150000.101203] [gpu-1:984  :0]         parser.c:2314 UCX  " + level + " " + message + "\n";
}

VerifiedValue verdict(const std::string& text, const std::string& name, const std::string& value) {
  return verify_lines(text, {{.name = name, .value = value, .source = Source::Node, .container = "c"}})
      .values.at(0);
}

const std::string kLanes =
    ucx("INFO ", "ucp_context_0 inter-node cfg#1 am(rc_mlx5/mlx5_0:1 tcp/eth0) ka(ud_mlx5/mlx5_0:1)");
const std::string kAbsent = ucx("WARN ",
                                "network devices 'mlx5_8:1','mlx5_9:1' are not available, please use one or "
                                "more of: 'eth0'(tcp), 'mlx5_0:1'(ib)");

TEST(UcxLog, GivesAVerdictOnTheValuesOfThePod) {
  const std::string name = "UCX_NET_DEVICES";
  EXPECT_EQ(verdict(kLanes, name, "mlx5_0:1").verdict, LogVerdict::Used);
  EXPECT_EQ(verdict(kLanes, name, "mlx5_1:1").verdict, LogVerdict::Contradicted);
  EXPECT_EQ(verdict(kLanes + kAbsent, name, "mlx5_0:1,mlx5_9:1").verdict, LogVerdict::PartlyUsed);
  EXPECT_THAT(verdict("n:1:1 [0] NCCL INFO Using network IB\n", name, "mlx5_0:1").evidence,
              HasSubstr("needs UCX_LOG_LEVEL=info"));
}

TEST(UcxLog, OfAnErrorNamesThePort) {
  const NcclLog log = read_lines(
      ucx("ERROR", "Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)") +
      ucx("ERROR", "RC QP 0x2a1 wqe[7]: SEND --e [inl len 26]") + ucx("ERROR", "never seen"));
  ASSERT_THAT(log.failures, SizeIs(1)) << "an error that is not of its devices is not judged";
  EXPECT_EQ(log.failures[0].code, Code::NoAnswer);
  EXPECT_EQ(log.failures[0].device, "mlx5_0");
  EXPECT_EQ(log.failures[0].port, 1);
}

TEST(NvshmemLog, NamesDevicesByTheirNumbers) {
  const std::string listed =
      "x/ibrc.cpp 1633 Enumerated IB devices in the system - device id=0 (of 2), name=mlx5_0, "
      "num_ports=1\nx/ibrc.cpp 1633 Enumerated IB devices in the system - device id=1 (of 2), name=mlx5_1, "
      "num_ports=1\nx/ibrc.cpp 1731 Ordered list of devices for assignment - idx=0 (of 1), device id=1, "
      "port_num=1\n";
  EXPECT_TRUE(read_lines(listed).nvshmem.devices.contains("mlx5_1:1"));
  EXPECT_THAT(read_lines(listed).nvshmem.devices, SizeIs(1));
  EXPECT_EQ(verdict(listed, "NVSHMEM_HCA_LIST", "mlx5_1:1").verdict, LogVerdict::Used);
  EXPECT_EQ(verdict(listed, "NVSHMEM_HCA_LIST", "mlx5_0:1").verdict, LogVerdict::Contradicted);
  const std::string absent = "WARN: cound not find user specified HCA name: mlx5_9 port: 1, skipping\n";
  EXPECT_EQ(verdict(listed + absent, "NVSHMEM_HCA_LIST", "mlx5_1:1,mlx5_9:1").verdict,
            LogVerdict::PartlyUsed);
}

TEST(EngineLog, OfOtherProgramsIsNone) {
  for (const std::string line : {" UCX  something", "the device id=0 is name=x", "WARN: user", "UCX  WARN x"})
    EXPECT_FALSE(read_lines(line + "\n").speaks()) << line;
}

TEST(EngineLog, IsBounded) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "d" + std::to_string(i);
    text += ucx("INFO ", "inter-node cfg#1 am(rc/" + name + ":1)") +
            "Enumerated IB devices in the system - device id=" + std::to_string(i) + " (of 9), name=" + name +
            "\n";
  }
  const NcclLog log = read_lines(text);
  EXPECT_EQ(log.ucx.devices.size(), 256u);
  EXPECT_EQ(log.nvshmem.names.size(), 256u);
}

}  // namespace
}  // namespace nccl_env::engine_log_test
