// SPDX-License-Identifier: Apache-2.0
#include "server/request_parser.h"

#include <gtest/gtest.h>

namespace nccl_env::net::request_parser_test {
namespace {

constexpr std::string_view kChunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

// Found by fuzzing: Beast asserts that "0\r\n" comes with what follows it.
TEST(RequestParser, TheEndOfAnEmptyChunkedBodyMayComeByteByByte) {
  const std::string_view end = "0\r\n\r\n";
  RequestParser parser;
  RequestHead head;
  ASSERT_FALSE(parser.parse_header(kChunked, head));
  std::string body;
  for (std::size_t came = 1; came < end.size(); ++came) {
    const auto progress = parser.parse_chunks(end.substr(0, came), body, 10);
    EXPECT_EQ(progress.used, 0U) << came;
    EXPECT_FALSE(progress.complete || progress.refusal) << came;
  }
  const auto progress = parser.parse_chunks(end, body, 10);
  EXPECT_EQ(progress.used, end.size());
  EXPECT_TRUE(progress.complete);
  EXPECT_EQ(body, "");
}

}  // namespace
}  // namespace nccl_env::net::request_parser_test
