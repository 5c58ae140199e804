// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/scripted_kernel.h"

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

using tests::ScriptedKernel;

// The result of a dump: the payloads, or its error.
std::vector<std::string> dump(ScriptedKernel& kernel) {
  std::vector<std::string> heard;
  const Status read = kernel.netlink().dump(
      18, {}, [&] { heard.clear(); },
      [&](const NetlinkMessage& message) {
        heard.emplace_back(message.payload.begin(), message.payload.end());
      });
  if (!read) return {read.error().message};
  return heard;
}

constexpr std::uint16_t kLink = 16;
const std::string kZero(4, '\0');  // the result in NLMSG_DONE

TEST(Netlink, ADumpIsReadToItsEnd) {
  ScriptedKernel kernel;
  kernel.add(1, kLink, NLM_F_MULTI, "eth0").add(1, kLink, NLM_F_MULTI, "eth1").say();
  kernel.add(7, kLink, NLM_F_MULTI, "odd1").add(1, kLink, NLM_F_MULTI, "eth2").say();
  kernel.add(1, NLMSG_DONE, NLM_F_MULTI, kZero).say();
  EXPECT_THAT(dump(kernel), ::testing::ElementsAre("eth0", "eth1", "eth2"));
}

// A rail that the kernel skipped would be missing in the table of every pod that is bound just then.
TEST(Netlink, AnInterruptedDumpIsRepeated) {
  ScriptedKernel kernel;
  kernel.add(1, kLink, NLM_F_MULTI, "eth0").add(1, NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, kZero).say();
  kernel.add(2, kLink, NLM_F_MULTI | NLM_F_DUMP_INTR, "eth0").add(2, NLMSG_DONE, NLM_F_MULTI, kZero).say();
  kernel.add(3, kLink, NLM_F_MULTI, "eth0").add(3, kLink, NLM_F_MULTI, "eth1");
  kernel.add(3, NLMSG_DONE, NLM_F_MULTI, kZero).say();
  EXPECT_THAT(dump(kernel), ::testing::ElementsAre("eth0", "eth1"));
}

TEST(Netlink, ADumpThatIsAlwaysInterruptedIsAnError) {
  ScriptedKernel kernel;
  for (std::uint32_t attempt = 1; attempt <= Netlink::kDumpAttempts; ++attempt) {
    kernel.add(attempt, kLink, NLM_F_MULTI | NLM_F_DUMP_INTR, "eth0");
    kernel.add(attempt, NLMSG_DONE, NLM_F_MULTI, kZero).say();
  }
  EXPECT_THAT(dump(kernel), ::testing::ElementsAre("netlink: 10 dumps were interrupted by changes"));
}

TEST(Netlink, ADumpThatEndsInAnErrorIsAnError) {
  ScriptedKernel kernel;
  const int result = -ENOMEM;
  kernel.add(1, kLink, NLM_F_MULTI, "eth0");
  kernel.add(1, NLMSG_DONE, NLM_F_MULTI, std::string(reinterpret_cast<const char*>(&result), 4)).say();
  EXPECT_THAT(dump(kernel), ::testing::ElementsAre(::testing::StartsWith("netlink: refused: ")));
}

TEST(Netlink, AnAnswerThatWasCutIsAnError) {
  ScriptedKernel longer;
  longer.say(std::string(40000, '\0'));
  EXPECT_THAT(dump(longer), ::testing::ElementsAre(::testing::StartsWith("netlink: answer: ")));
  ScriptedKernel shorter;
  nlmsghdr header{};
  header.nlmsg_len = 100;
  shorter.say(std::string(reinterpret_cast<const char*>(&header), sizeof header));
  EXPECT_THAT(dump(shorter), ::testing::ElementsAre(::testing::StartsWith("netlink: a message is cut: ")));
}

TEST(Netlink, AnEventThatWasCutCountsAsLost) {
  ScriptedKernel kernel;
  kernel.add(0, kLink, 0, "eth0").say();
  const auto ignore = [](const NetlinkMessage& /*message*/) {};
  EXPECT_TRUE(kernel.netlink().receive_events(ignore));
  kernel.say(std::string(40000, '\0'));
  EXPECT_FALSE(kernel.netlink().receive_events(ignore));
}

}  // namespace
}  // namespace nccl_env::node::netlink_test
