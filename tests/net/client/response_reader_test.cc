// SPDX-License-Identifier: Apache-2.0
#include "client/response_reader.h"

#include <gmock/gmock.h>

namespace nccl_env::net::response_reader_test {
namespace {

using ::testing::HasSubstr;

struct Read {
  bool complete = false;
  int status = 0;
  bool keep = false;
  std::string body;
  std::string problem;
  std::size_t used = 0;
};

Read read(std::string_view text, std::size_t step, bool ended = false) {
  ResponseReader reader;
  Read out;
  while (out.used < text.size() && !reader.complete()) {
    const auto used = reader.feed(text.substr(out.used, step), out.body);
    if (!used) {
      out.problem = used.error().message;
      return out;
    }
    out.used += *used;
  }
  if (ended) {
    if (const Status end = reader.end(); !end) out.problem = end.error().message;
  }
  out.complete = reader.complete();
  out.status = reader.status();
  out.keep = reader.keep_alive();
  return out;
}

TEST(ResponseReader, EveryFramingHoweverItIsCut) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
  const std::string sized = head + "content-length: 5\r\n\r\nhello";
  const std::string chunked =
      head + "Transfer-Encoding: Chunked\r\n\r\n2;x=\"y\"\r\nhe\r\n003\r\nllo\r\n0\r\nTrailer: x\r\n\r\n";
  for (const std::string& text : {sized, chunked, "HTTP/1.1 100 Continue\r\n\r\n" + sized}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
      const Read out = read(text + "HTTP", step);
      EXPECT_TRUE(out.complete) << text << out.problem;
      EXPECT_EQ(out.body, "hello");
      EXPECT_EQ(out.status, 200);
      EXPECT_TRUE(out.keep);
      EXPECT_EQ(out.used, text.size());
    }
  }
}

TEST(ResponseReader, AChunkIsHandedOutBeforeItsEnd) {
  const std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe";
  EXPECT_EQ(read(text, 99).body, "he");
  EXPECT_EQ(read(text + "llo", 99).body, "hello");
}

TEST(ResponseReader, ABodyMayEndWithTheConnection) {
  const std::string text = "HTTP/1.1 200\r\n\r\nhello";
  EXPECT_FALSE(read(text, 7).complete);
  const Read out = read(text, 7, true);
  EXPECT_TRUE(out.complete);
  EXPECT_EQ(out.body, "hello");
  EXPECT_FALSE(out.keep);
}

TEST(ResponseReader, NoBody) {
  for (const char* text : {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    const Read out = read(text, 5);
    EXPECT_TRUE(out.complete) << text;
    EXPECT_TRUE(out.keep) << text;
  }
}

TEST(ResponseReader, WhoClosesSaysSo) {
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", 99).keep);
  EXPECT_FALSE(read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 99).keep);
}

TEST(ResponseReader, AnEndBeforeTheEndIsAnError) {
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 99, true).problem,
              HasSubstr("within"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", 99, true).problem,
              HasSubstr("within"));
  EXPECT_THAT(read("HTTP/1.1 2", 99, true).problem, HasSubstr("without an answer"));
}

TEST(ResponseReader, RefusesWhatIsNotHttp11) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  std::vector<std::string> texts{"\r\n\r\n", ok + "X: a" + std::string(1, '\0') + "b\r\n\r\n",
                                 ok + std::string(70000, 'x'), chunked + "1;" + std::string(5000, 'x'),
                                 chunked + "0\r\n" + std::string(5000, 'x')};
  for (const char* line : {"HTTP/2 200 OK", "HTTP/1.x 200 OK", "HTTP/1.1 20", "HTTP/1.1 2000",
                           "HTTP/1.1 600 x", "HTTP/1.1 +20 x", "HTTP/1.1 101 Switching"})
    texts.push_back(line + std::string("\r\n\r\n"));
  for (const char* fields :
       {"no colon", ": x", "a b: x", " folded: x", "X: a\r\n b", "X: a\r\n\tb: c", "X@Y: a", "X\x01: a",
        "X: a\nY: b", "X: a\rb", "Content-Length: -1", "Content-Length: 1 2",
        "Content-Length: 99999999999999999999", "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: 1, 1", "Content-Length: 1\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked", "Content-Encoding: gzip"})
    texts.push_back(ok + fields + "\r\n\r\n");
  for (const char* chunks :
       {"x\r\n", "\r\n", "1\rX", "1\r\naXXXX", "1\r\na\rXXX", "1 1\r\na\r\n", "+1\r\na\r\n",
        "11111111111111111\r\n", "1;a\nb\r\na\r\n", "0\r\nno colon\r\n\r\n"})
    texts.push_back(chunked + chunks);
  for (const std::string& text : texts) {
    EXPECT_THAT(read(text, 11).problem, HasSubstr("not HTTP/1.1")) << text.substr(0, 100);
  }
}

TEST(ResponseReader, LimitsDoNotDependOnHowItIsCut) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string& text : {ok + "X: " + std::string(70000, 'x') + "\r\n\r\n",
                                  chunked + "1;" + std::string(5000, 'x') + "\r\na\r\n0\r\n\r\n",
                                  chunked + "0\r\nX: " + std::string(5000, 'x') + "\r\n\r\n"}) {
    for (const std::size_t step : {std::size_t{4096}, text.size()})
      EXPECT_THAT(read(text, step).problem, HasSubstr("not HTTP/1.1")) << step;
  }
}

}  // namespace
}  // namespace nccl_env::net::response_reader_test
