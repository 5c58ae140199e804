// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/gid.h"

#include <gtest/gtest.h>

#include <random>

namespace nccl_env::gid_test {
namespace {

// A GID whose groups are often zero and sometimes of IPv4 form, so that every short form occurs.
Gid random_gid(std::mt19937& random) {
  Gid gid;
  for (std::size_t at = 0; at < 16; at += 2) {
    if (random() % 3 == 0) continue;
    gid.bytes[at] = static_cast<std::uint8_t>(random());
    gid.bytes[at + 1] = static_cast<std::uint8_t>(random());
  }
  if (random() % 4 == 0) {
    gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, gid.bytes[12], gid.bytes[13], 7, 1};
  }
  return gid;
}

TEST(Gid, ReadsTheFormsOfSysfsAndOfTheListings) {
  const std::string full = "0000:0000:0000:0000:0000:ffff:0a00:0001";
  for (const char* text : {"0000:0000:0000:0000:0000:ffff:0a00:0001", "::ffff:10.0.0.1", "::FFFF:0A00:1",
                           "0:0:0:0:0:ffff:a00:1", "0:0:0:0:0:ffff:10.0.0.1"}) {
    const auto gid = parse_gid(text);
    ASSERT_TRUE(gid.ok()) << text;
    EXPECT_EQ(format_gid(*gid), full) << text;
    EXPECT_TRUE(gid->is_v4_mapped());
    EXPECT_EQ(format_ip(gid->address()), "10.0.0.1");
  }
}

TEST(Gid, RefusesWhatOnlyResemblesAGid) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "10.0.0.1"sv, "fe80::1%eth0"sv, " fe80::1"sv, "fe80::1 "sv, "fe80::1\n"sv, "fe80::1\0"sv,
        "fe80-0000-0000-0000-0000-0000-0000-0001"sv, "fe80:0000:0000:0000:0000:0000:0000"sv,
        "fe80:0000:0000:0000:0000:0000:0000:0001:0002"sv, "b83fd20300b4f5a2"sv})
    EXPECT_FALSE(parse_gid(text).ok()) << text;
  for (const char* text : {"fe80::1::2", "00fe80::1", "fe80::g", "[fe80::1]", "::ffff:10.0.0.256",
                           "::ffff:10.0.0", "::ffff:10.0.0.1.2", ":", ":::", "fe80::1/64"})
    EXPECT_FALSE(parse_gid(text).ok()) << text;
  EXPECT_FALSE(parse_gid(std::string(1 << 20, ':')).ok());
}

TEST(Gid, ReadsBackWhatItWrites) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Gid gid = random_gid(random);
    const auto long_form = parse_gid(format_gid(gid));
    ASSERT_TRUE(long_form.ok() && *long_form == gid) << format_gid(gid);
    const auto address = parse_ip(format_ip(gid.address()));
    ASSERT_TRUE(address.ok() && *address == gid.address()) << format_ip(gid.address());
  }
}

TEST(Gid, TellsTheKindsApart) {
  EXPECT_TRUE(parse_gid("::")->is_zero());
  EXPECT_FALSE(parse_gid("::1")->is_zero());
  for (const char* text : {"fe80::1", "febf:ffff::1"}) EXPECT_TRUE(parse_gid(text)->is_link_local()) << text;
  for (const char* text : {"fec0::1", "fe7f::1", "fd80::1"}) {
    EXPECT_FALSE(parse_gid(text)->is_link_local()) << text;
  }
  EXPECT_TRUE(parse_gid("::ffff:169.254.1.2")->is_v4_link_local());
  EXPECT_FALSE(parse_gid("::ffff:169.253.1.2")->is_v4_link_local());
  EXPECT_FALSE(parse_gid("::169.254.1.2")->is_v4_link_local());
  EXPECT_FALSE(parse_gid("::fffe:10.0.0.1")->is_v4_mapped());
  EXPECT_FALSE(parse_gid("0:0:0:0:1:ffff:a00:1")->is_v4_mapped());
}

TEST(IpAddress, WritesIpv4DottedAndIpv6Short) {
  for (const char* text : {"0.0.0.0", "255.255.255.255", "25.11.128.2", "::", "::1", "2001:db8::1",
                           "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1", "fd00::a:b:c:d"}) {
    ASSERT_TRUE(parse_ip(text).ok()) << text;
    EXPECT_EQ(format_ip(*parse_ip(text)), text);
  }
  EXPECT_EQ(format_ip(*parse_ip("::ffff:1.2.3.4")), "1.2.3.4");
  EXPECT_TRUE(parse_ip("1.2.3.4")->is_v4());
  EXPECT_FALSE(parse_ip("2001:db8::1")->is_v4());
}

TEST(IpAddress, RefusesOtherNotations) {
  for (const char* text : {"", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0x1.2.3.4", "1.2.3.4 ", " 1.2.3.4",
                           "1.2.3.256", "1.2.3.-4", "1.2.3.4/8", "fe80::1%1", "[::1]", "localhost"}) {
    EXPECT_FALSE(parse_ip(text).ok()) << text;
  }
}

TEST(IpAddress, AMessageEscapesAndBoundsHostileText) {
  const auto result = parse_ip("\x1b[2J" + std::string(5000, 'x'));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message.find('\x1b'), std::string::npos);
  EXPECT_LT(result.error().message.size(), 200U);
}

TEST(Cidr, CutsTheHostBitsAndContainsOnlyItsOwnFamily) {
  const auto cut = [](const char* text) { return format_cidr(parse_cidr(text)->network()); };
  EXPECT_EQ(cut("25.11.128.2/27"), "25.11.128.0/27");
  EXPECT_EQ(cut("25.11.128.255/25"), "25.11.128.128/25");
  EXPECT_EQ(cut("25.11.128.2/0"), "0.0.0.0/0");
  EXPECT_EQ(cut("25.11.128.2/32"), "25.11.128.2/32");
  EXPECT_EQ(cut("2001:db8:ffff::1/33"), "2001:db8:8000::/33");
  EXPECT_EQ(cut("2001:db8::1/128"), "2001:db8::1/128");
  const auto holds = [](const char* cidr, const char* address) {
    return parse_cidr(cidr)->contains(*parse_ip(address));
  };
  EXPECT_TRUE(holds("25.11.128.2/27", "25.11.128.31"));
  EXPECT_FALSE(holds("25.11.128.2/27", "25.11.128.32"));
  EXPECT_FALSE(holds("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(holds("::/0", "10.0.0.1"));
  EXPECT_TRUE(holds("2001:db8::/127", "2001:db8::1"));
  EXPECT_FALSE(holds("2001:db8::/127", "2001:db8::2"));
}

TEST(Cidr, AgreesWithItsNetwork) {
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    const IpAddress address = random_gid(random).address();
    const Cidr cidr{address, static_cast<int>(random() % (address.is_v4() ? 33 : 129))};
    const Cidr network = cidr.network();
    ASSERT_TRUE(cidr.contains(network.address) && network.contains(address)) << format_cidr(cidr);
    ASSERT_EQ(network.network(), network);
    ASSERT_EQ(*parse_cidr(format_cidr(cidr)), cidr) << format_cidr(cidr);
  }
}

TEST(Cidr, RefusesOtherNotations) {
  for (const char* text : {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8",
                           "10.0.0.0/8 ", "10.0.0.0/8/8", "10.0.0.0/255.0.0.0", "::/129", "::/-1",
                           "::ffff:10.0.0.0/104", "::ffff:10.0.0.0/8", "/8"}) {
    EXPECT_FALSE(parse_cidr(text).ok()) << text;
  }
}

}  // namespace
}  // namespace nccl_env::gid_test
