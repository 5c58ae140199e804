// SPDX-License-Identifier: Apache-2.0
// Tools that say that there is nothing, or that they cannot use it.
#include "listing/import_fixture.h"

namespace nccl_env::answers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kLinks =
    "link bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev eth1\n"
    "link bnxt_re1/1 state ACTIVE physical_state LINK_UP netdev eth2\n";

std::string abi(const std::string& device) {
  return "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for "
         "device "
         "/sys/class/infiniband/" +
         device + "\n";
}

std::string devinfo(const std::string& device) {
  return "hca_id: " + device +
         "\n transport: InfiniBand (0)\n phys_port_cnt: 1\n port: 1\n state: PORT_ACTIVE (4)\n link_layer: "
         "Ethernet\n";
}

std::vector<Code> codes_of(const std::vector<Finding>& findings) {
  std::vector<Code> codes;
  for (const Finding& finding : findings) codes.push_back(finding.code);
  return codes;
}

std::vector<std::string> hcas_of(const ImportOutcome& outcome) {
  std::vector<std::string> hcas;
  if (!outcome.report) return {"refused"};
  for (const Port& port : outcome.report->table.ports) hcas.push_back(port.hca);
  return hcas;
}

TEST(Answers, ALibraryThatFitsNoDriverLeavesNoPort) {
  const ImportOutcome outcome = import_text(abi("bnxt_re0") + abi("bnxt_re1") + "No IB devices found\n");
  EXPECT_THAT(codes_of(outcome.findings), ElementsAre(Code::LibraryTooOld));
  EXPECT_THAT(
      problems_of(outcome),
      ElementsAre(
          "a.txt:1: libibverbs opened no device (bnxt_re0, bnxt_re1): driver bnxt_re has kernel ABI 6, the "
          "library supports 1 to 1. The image's rdma-core or provider is older than the host's driver"));
}

TEST(Answers, ALibraryThatFitsOneDriverLeavesItsPorts) {
  const ImportOutcome outcome = import_text(abi("bnxt_re0") + devinfo("bnxt_re1"));
  EXPECT_THAT(hcas_of(outcome), ElementsAre("bnxt_re1"));
  EXPECT_THAT(codes_of(outcome.report->notes), ElementsAre(Code::LibraryTooOld));
  EXPECT_EQ(outcome.report->skipped_lines, 0);
}

TEST(Answers, NoDeviceIsNotTheLackOfAListing) {
  EXPECT_THAT(problems_of(import_text("$ ibv_devinfo\nNo IB devices found\n")),
              ElementsAre(HasSubstr("a.txt:2: libibverbs found no device here: none was given to the pod")));
  EXPECT_THAT(codes_of(import_text("Failed to get IB devices list: Function not implemented\n").findings),
              ElementsAre(Code::NoDevices));
}

TEST(Answers, NoDeviceBesideADeviceIsAContradiction) {
  EXPECT_THAT(problems_of(import_text(devinfo("mlx5_0") + "No IB devices found\n")),
              ElementsAre("a.txt:7: libibverbs found no device here, but the listing shows some"));
}

TEST(Answers, DevicesThatDoNotOpenAreLeftOut) {
  const ImportOutcome outcome =
      import_text("Failed to open device\n" + devinfo("mlx5_4") + "\nFailed to open device\n");
  EXPECT_THAT(hcas_of(outcome), ElementsAre("mlx5_4"));
  EXPECT_THAT(notes_of(outcome),
              ElementsAre(HasSubstr("2 devices more are there and cannot be opened here")));
  EXPECT_EQ(outcome.report->skipped_lines, 0);
  EXPECT_THAT(codes_of(import_text("Failed to open device\n").findings), ElementsAre(Code::NotOpened));
}

TEST(Answers, OrdinaryWordsAreNone) {
  const ImportOutcome outcome = import_text(kLinks + "No devices were found by me\n");
  EXPECT_THAT(problems_of(outcome), IsEmpty());
  EXPECT_THAT(outcome.report->samples, SizeIs(1));
}

}  // namespace
}  // namespace nccl_env::answers_test
