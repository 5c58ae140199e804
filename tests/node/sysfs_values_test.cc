// SPDX-License-Identifier: Apache-2.0
#include "sysfs_values.h"

#include <gtest/gtest.h>

namespace nccl_env::node::sysfs_values_test {
namespace {

TEST(Attributes, NumbersAreStrict) {
  EXPECT_EQ(parse_number("0", 10), 0);
  EXPECT_EQ(parse_number("10", 10), 10);
  for (const char* text : {"", "-1", "+1", "11", "01", "1 ", " 1", "1x", "99999999999999999999"})
    EXPECT_EQ(parse_number(text, 10), std::nullopt) << text;
}

TEST(Attributes, StatesAreTheKernelsNumbers) {
  EXPECT_EQ(parse_state(*leading_number("4: ACTIVE", 255)), PortState::Active);
  EXPECT_EQ(parse_state(*leading_number("1: DOWN", 255)), PortState::Down);
  EXPECT_EQ(parse_state(2), PortState::Init);
  EXPECT_EQ(parse_state(3), PortState::Armed);
  EXPECT_EQ(parse_state(5), std::nullopt);  // ACTIVE_DEFER
  EXPECT_EQ(leading_number("ACTIVE", 255), std::nullopt);
}

TEST(Attributes, RatesSayWhetherTheyMayBeTheDefault) {
  EXPECT_EQ(parse_rate("200 Gb/sec (4X HDR)")->gbps, 200);
  EXPECT_FALSE(parse_rate("200 Gb/sec (4X HDR)")->sdr);
  EXPECT_EQ(parse_rate("2.5 Gb/sec (1X SDR)")->gbps, 2.5);
  // Linux 6.1 prints XDR, 800 Gb/s, like this.
  EXPECT_TRUE(parse_rate("10 Gb/sec (4X SDR)")->sdr);
  EXPECT_TRUE(parse_rate("10 Gb/sec (4X)")->sdr);
  EXPECT_EQ(parse_rate("56 Gb/sec (4X FDR)")->gbps, 56);
  for (const char* text :
       {"", "200", "200 Gb/sec", "200 Gb/sec (4X HDR", "-5 Gb/sec (4X HDR)", "0 Gb/sec (4X HDR)",
        "1.25 Gb/sec (1X SDR)", "200 Mb/sec (4X HDR)", "200 Gb/sec (HDR)", "9999999 Gb/sec (4X HDR)"})
    EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(Attributes, OneWordOfSysfsStandsForTwoTypes) {
  EXPECT_EQ(parse_gid_type("IB/RoCE v1", GidType::RoCEv1), GidType::RoCEv1);
  EXPECT_EQ(parse_gid_type("IB/RoCE v1", GidType::IB), GidType::IB);
  EXPECT_EQ(parse_gid_type("RoCE v2", GidType::IB), GidType::RoCEv2);
  EXPECT_EQ(parse_gid_type("RoCE v3", GidType::IB), std::nullopt);
}

TEST(Attributes, ThePciFunctionIsTheLastOneOnThePath) {
  EXPECT_EQ(pci_address_of("devices/pci0000:50/0000:50:01.0/0000:53:00.0"), "0000:53:00.0");
  EXPECT_EQ(pci_address_of("devices/pci0000:50/0000:53:00.0/mlx5_core.sf.2"), "0000:53:00.0");
  EXPECT_EQ(pci_address_of("devices/pci10000:e0/10000:E1:00.0"), "10000:e1:00.0");
  EXPECT_EQ(pci_address_of("devices/pci0000:50"), std::nullopt);
  EXPECT_EQ(pci_address_of("devices/virtual/infiniband/rxe0"), std::nullopt);
  EXPECT_EQ(pci_address_of("0000:53:20.0"), std::nullopt);  // no such device number
}

TEST(Attributes, Labels) {
  EXPECT_EQ(parse_label("MT_0000000223"), "MT_0000000223");
  EXPECT_EQ(parse_label(""), std::nullopt);
  EXPECT_EQ(parse_label("a\nb"), std::nullopt);
  EXPECT_EQ(parse_label(std::string(129, 'x')), std::nullopt);
}

}  // namespace
}  // namespace nccl_env::node::sysfs_values_test
