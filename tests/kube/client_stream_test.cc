// SPDX-License-Identifier: Apache-2.0
#include "kube/client_fixture.h"

namespace nccl_env::kube::client_stream_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KubeStream : public KubeClient {
 protected:
  std::vector<std::string> lines;
  Result<Reply> watch(std::chrono::milliseconds idle = 20s, std::size_t until = 1000) {
    return client->stream("/watch", idle, [this, until](std::string_view line) {
      lines.emplace_back(line);
      return lines.size() < until;
    });
  }
};

TEST_F(KubeStream, LinesArriveWholeHoweverTheyAreCut) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    connection.chunk("{\"a\":1}\n{\"b\"");
    connection.chunk(":2}");
    connection.chunk("\n\n{\"c\":3}\r\n");
    connection.end_chunks();
  });
  connect();
  EXPECT_EQ(problem(watch()), "answered 200");
  EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}"));
  ASSERT_TRUE(watch().ok());
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(KubeStream, ALineIsGivenAsSoonAsItIsThere) {
  std::atomic<bool> got{false};
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    connection.chunk("first\n");
    while (!got && !server->stopping()) std::this_thread::yield();
    connection.chunk("second\n");
    connection.end_chunks();
  });
  connect();
  const auto reply = client->stream("/watch", 20s, [&](std::string_view line) {
    lines.emplace_back(line);
    got = true;
    return true;
  });
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_THAT(lines, ElementsAre("first", "second"));
}

TEST_F(KubeStream, AnotherStatusIsTheReply) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.reply(410, "{\"message\":\"too old\"}");
  });
  connect();
  const auto reply = watch();
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(status_message(*reply), "HTTP 410: too old");
  EXPECT_TRUE(lines.empty());
}

TEST_F(KubeStream, ADropIsAnErrorAndTheLinesBeforeItCount) {
  serve([](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    connection.chunk("one\ntwo");
    connection.close();
  });
  connect();
  EXPECT_THAT(problem(watch()), HasSubstr("within the answer"));
  EXPECT_THAT(lines, ElementsAre("one"));
}

TEST_F(KubeStream, SilenceAndEndlessLinesEndIt) {
  std::atomic<bool> silent{true};
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    connection.chunk("one\n");
    if (silent) return connection.wait_closed();
    const std::string block(1 << 20, 'x');
    while (connection.chunk(block) && !server->stopping()) {
    }
  });
  connect();
  EXPECT_THAT(problem(watch(1s)), HasSubstr("the deadline is over"));
  silent = false;
  EXPECT_THAT(problem(watch()), HasSubstr("a line is larger than 4194304 bytes"));
  EXPECT_THAT(lines, ElementsAre("one", "one"));
}

TEST_F(KubeStream, TheReaderMayEndIt) {
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.begin_chunks();
    while (connection.chunk("line\n") && !server->stopping()) {
    }
  });
  connect();
  EXPECT_EQ(problem(watch(20s, 3)), "answered 200");
  EXPECT_EQ(lines.size(), 3u);
}

}  // namespace
}  // namespace nccl_env::kube::client_stream_test
