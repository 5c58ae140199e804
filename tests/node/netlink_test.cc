// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace nccl_env::node::netlink_test {
namespace {

std::vector<std::uint8_t> attribute(std::uint16_t type, std::uint16_t length, const std::string& content) {
  std::vector<std::uint8_t> bytes((4 + content.size() + 3) / 4 * 4);
  std::memcpy(bytes.data(), &length, 2);
  std::memcpy(bytes.data() + 2, &type, 2);
  std::copy(content.begin(), content.end(), bytes.begin() + 4);
  return bytes;
}

TEST(NetlinkAttributes, AreBoundsChecked) {
  auto bytes = attribute(3, 9, std::string("eth0\0", 5));
  const auto second = attribute(4, 8, std::string("\x90\x10\0\0", 4));
  bytes.insert(bytes.end(), second.begin(), second.end());
  const Attributes read(bytes);
  EXPECT_EQ(read.text(3), "eth0");
  EXPECT_EQ(read.u32(4), 4240u);
  EXPECT_EQ(read.u32(3), 0u);  // not four bytes
  EXPECT_TRUE(read.find(5).empty());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_LE(Attributes(std::span(bytes).first(size)).text(3).size(), 4u);
  for (const std::uint16_t length : {0, 3, 100}) {
    const auto wrong = attribute(3, length, "eth0");
    EXPECT_EQ(Attributes(wrong).text(3), "") << length;
  }
}

}  // namespace
}  // namespace nccl_env::node::netlink_test
