// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/gid_row.h"

#include <gmock/gmock.h>

#include <random>

namespace nccl_env::gid_row_test {
namespace {

using testing::HasSubstr;

GidRow read(const std::string& text) {
  const auto row = parse_gid_row(text);
  EXPECT_TRUE(row) << text << ": " << row.error().message;
  return row ? *row : GidRow{};
}

std::string error_of(const std::string& text) {
  const auto row = parse_gid_row(text);
  return row ? "" : row.error().message;
}

TEST(GidRows, HaveOneText) {
  for (const char* text :
       {"3 RoCEv2 25.11.128.2 dev eth1", "0 RoCEv1 gid fe80::5aa2:e1ff:fe11:2233 dev eth1",
        "0 IB gid fe80::b83f:d203:b4:f5a2", "65535 2001:db8::2", "7 gid ::",
        "7 RoCEv2 gid ::ffff:25.11.128.2", "5 RoCEv2 2001:db8::2 dev bond0.2973 since 2026-11-20T07:00:00Z",
        "1 RoCEv2 10.0.0.1 since 2026-11-20T07:00:00Z", "1 IB 2001:1db8:1111:2222:3333:4444:5555:6666"})
    EXPECT_EQ(format_gid_row(read(text)), text);
  EXPECT_EQ(format_gid_row(read("0 IB gid FE80:0000:0000:0000:b83f:d203:00b4:f5a2")),
            "0 IB gid fe80::b83f:d203:b4:f5a2");
  EXPECT_EQ(format_gid_row(read("1 0:0::ffff:190b:8002 since 2026-11-20T08:00:00.5+01:00")),
            "1 25.11.128.2 since 2026-11-20T07:00:00Z");
}

TEST(GidRows, TellAnAddressFromAGid) {
  const GidRow address = read("3 RoCEv2 25.11.128.2 dev eth1");
  EXPECT_EQ(address.index, 3);
  EXPECT_EQ(address.type, GidType::RoCEv2);
  EXPECT_EQ(format_gid(address.gid), "0000:0000:0000:0000:0000:ffff:190b:8002");
  EXPECT_EQ(format_ip(*address.address), "25.11.128.2");
  EXPECT_EQ(address.netdev, "eth1");
  EXPECT_FALSE(address.index_since);
  const GidRow gid = read("3 gid ::ffff:25.11.128.2");
  EXPECT_EQ(gid.gid, address.gid);
  EXPECT_FALSE(gid.address || gid.type || gid.netdev);
}

TEST(GidRows, TakeInterfacesOfAnyName) {
  for (const char* name : {"dev", "since", "gid", "IB", "-", "#", "\"", "3", "10.0.0.1"}) {
    for (const char* more : {"", " since 2026-11-20T07:00:00Z"}) {
      const std::string text = std::string("3 10.0.0.1 dev ") + name + more;
      EXPECT_EQ(read(text).netdev, name);
      EXPECT_EQ(format_gid_row(read(text)), text);
    }
  }
}

TEST(GidRows, AreReadStrictly) {
  const std::vector<std::pair<std::string, std::string>> refused{
      {"", "\"\" is not an index"},
      {"3", "\"\" is not an IPv4 or IPv6 address"},
      {"-0 ::1", "\"-0\" is not an index from 0 to 65535"},
      {"03 ::1", "\"03\" is not an index"},
      {"+3 ::1", "is not an index"},
      {"65536 ::1", "\"65536\" is not an index"},
      {"3 ::1 ", "is not a GID row such as"},
      {" 3 ::1", "\"\" is not an index"},
      {"3  ::1", "\"\" is not an IPv4"},
      {"3\t::1", "is not an index"},
      {"3 ROCEv2 ::1", "\"ROCEv2\" is not a type of GID, only IB, RoCEv1, RoCEv2"},
      {"3 RoCEv9 10.0.0.1 dev eth1", "\"RoCEv9\" is not a type of GID"},
      {"3 10.0.0.256", "\"10.0.0.256\" is not an IPv4"},
      {"3 IB RoCEv1 ::1", "\"RoCEv1\" is not an IPv4"},
      {"3 gid 25.11.128.2", "\"25.11.128.2\" is not a GID"},
      {"3 gid", "\"\" is not a GID"},
      {"3 gid ::1 ::1", "\"::1\" does not belong at the end"},
      {"3 ::1 eth1", "\"eth1\" does not belong at the end"},
      {"3 ::1 dev", "\"\" is not an interface name"},
      {"3 ::1 dev a/b", "\"a/b\" is not an interface name"},
      {"3 ::1 dev sixteenbyteslong", "is not an interface name"},
      {"3 ::1 since today", "\"today\" is not an RFC 3339 time"},
      {"3 ::1 since 2026-11-20T07:00:00Z dev eth1", "\"dev eth1\" does not belong at the end"},
      {"3 ::1 dev eth1  since 2026-11-20T07:00:00Z", "does not belong at the end"},
      {std::string("3 ::1\0", 6), "is not an IPv4"},
      {"3 ::1 since 2026-11-20T07:00:00." + std::string(100, '0') + "Z", "is not a GID row such as"}};
  for (const auto& [text, part] : refused) EXPECT_THAT(error_of(text), HasSubstr(part)) << text;
}

// Holds for every row that a table may have.
TEST(GidRows, AreReadAsTheyWereWritten) {
  std::mt19937 random(5);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  for (int round = 0; round < 2000; ++round) {
    GidRow row;
    row.index = static_cast<int>(random() % (kMaxGidIndex + 1));
    for (auto& byte : row.gid.bytes) byte = one_in(3) ? 0 : static_cast<std::uint8_t>(random());
    if (one_in(3)) row.gid = Gid{parse_ip("10.1.2." + std::to_string(random() % 256))->bytes};
    if (!one_in(3)) row.address = row.gid.address();
    if (!one_in(4)) row.type = static_cast<GidType>(random() % 3);
    if (!one_in(4)) {
      std::string name;
      while (!is_netdev_name(name)) {
        name.clear();
        for (unsigned size = 1 + random() % 15; name.size() < size;)
          name += static_cast<char>('!' + random() % ('~' - '!' + 1));
      }
      row.netdev = name;
    }
    if (one_in(3)) row.index_since = Timestamp(std::chrono::seconds(random()));
    const std::string text = format_gid_row(row);
    ASSERT_LE(text.size(), 103U) << text;
    const GidRow again = read(text);
    ASSERT_EQ(again.index, row.index);
    ASSERT_EQ(again.gid, row.gid) << text;
    ASSERT_EQ(again.type, row.type) << text;
    ASSERT_EQ(again.address, row.address) << text;
    ASSERT_EQ(again.netdev, row.netdev) << text;
    ASSERT_EQ(again.index_since, row.index_since) << text;
  }
}

}  // namespace
}  // namespace nccl_env::gid_row_test
