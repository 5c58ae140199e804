// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/proof/members.h"
#include "nccl_env/core/fabric/gid.h"

namespace nccl_env::proof_test {
namespace {

using ::testing::HasSubstr;

LinkEnd greatest_end(int link) {
  return {link,  (1 << 24) - 1, (1 << 24) - 1, *parse_gid("fe80:1111:2222:3333:4444:5555:6666:7777"),
          65535, 4096,          4294967295.0};
}

TEST(Wire, ReadsWhatItWrote) {
  const std::string hello = hello_line("0123abcd", member(3, 8));
  EXPECT_EQ(hello_line("0123abcd", *read_hello(hello, "0123abcd")), hello);
  const Order prepare{OrderWord::Prepare, 7, ProofEnd::From, {{{0, 5}, {1, 6}}}, {}};
  EXPECT_EQ(to_line(prepare),
            R"({"word":"prepare","pair":7,"end":"from","rails":[{"link":0,"rail":5},{"link":1,"rail":6}]})");
  EXPECT_EQ(to_line(*read_order(to_line(prepare))), to_line(prepare));
  const Order connect{OrderWord::Connect, 7, {}, {}, {{greatest_end(0)}}};
  const auto read = read_order(to_line(connect));
  ASSERT_TRUE(read);
  EXPECT_EQ((*read->ends)[0].key, 4294967295.0);
  EXPECT_EQ(to_line(*read), to_line(connect));
  const Reply reply{7, OrderWord::Write, {}, {{{2, ProofStep::Packets, 12}, {3, ProofStep::Answer, {}}}}};
  EXPECT_EQ(to_line(*read_reply(to_line(reply))), to_line(reply));
}

TEST(Wire, HoldsTheLongestOrderInALine) {
  Order order{.word = OrderWord::Connect, .pair = 1 << 30, .ends = std::vector<LinkEnd>()};
  for (int link = 0; link < kMaxProofLinks; ++link) order.ends->push_back(greatest_end(link));
  EXPECT_LT(to_line(order).size(), kMaxProofLine);
  EXPECT_TRUE(read_order(to_line(order)));
}

TEST(Wire, RefusesAHelloWithoutTheToken) {
  const std::string rest = hello_line("", member(0, 1));
  EXPECT_TRUE(read_hello("abc" + rest, "abc"));
  for (const char* token : {"", "ab", "abd", "abcd"})
    EXPECT_THAT(read_hello(token + rest, "abc").error().message, HasSubstr("the token")) << token;
  EXPECT_THAT(read_hello("abc", "abc").error().message, HasSubstr("the token"));
  EXPECT_THAT(read_hello(rest, "").error().message, HasSubstr("the token"));
}

TEST(Wire, RefusesAndNamesTheField) {
  EXPECT_THAT(read_hello(R"(abc {"place":-1,"node":"a","rails":[]})", "abc").error().message,
              HasSubstr("place"));
  EXPECT_THAT(read_order(R"({"word":"obey"})").error().message, HasSubstr("word"));
  EXPECT_THAT(read_order(R"({"word":"connect","ends":[{"link":0,"queuePair":16777216}]})").error().message,
              HasSubstr("ends[0].queuePair"));
  EXPECT_THAT(read_reply(R"({"pair":1,"word":"write","ends":[{"link":0,"key":4294967296}]})").error().message,
              HasSubstr("ends[0].key"));
  EXPECT_FALSE(read_reply("GET / HTTP/1.1"));
  EXPECT_THAT(read_reply(std::string(kMaxProofLine + 1, '{')).error().message, HasSubstr("64 KiB"));
}

}  // namespace
}  // namespace nccl_env::proof_test
