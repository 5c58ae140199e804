// SPDX-License-Identifier: Apache-2.0
// Whether a Node's boot is the table's: what is believed, for how long, and what a server that fails costs.
#include "boot_reader.h"

#include <gmock/gmock.h>

#include <sstream>

#include "kube/fake_api.h"
#include "support/patience.h"

namespace nccl_env::store::boot_reader_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kNodes = "/api/v1/nodes";

class Boots : public ::testing::Test {
 protected:
  Boots() : client(*kube::Client::make(api.config(), logger)), boots(*client, logger) { put("a"); }

  void put(const std::string& boot_id, const std::string& node = "gpu-1") {
    api.put(kNodes, node, Json{{"kind", "Node"}, {"status", {{"nodeInfo", {{"bootID", boot_id}}}}}});
  }
  // "same", "other", "unknown", "later".
  std::string check(const std::string& boot_id, BootReader::Moment at, bool may_wait = true,
                    const std::string& node = "gpu-1") {
    const auto checked = boots.check(node, boot_id, may_wait, at);
    if (checked.postponed()) return "later";
    return *checked == BootCheck::Same ? "same" : *checked == BootCheck::Other ? "other" : "unknown";
  }
  [[nodiscard]] std::ptrdiff_t asked() { return api.asked(kNodes); }

  tests::FakeApi api;
  std::ostringstream log;
  std::shared_ptr<Logger> logger = Logger::to_stream(log, LogLevel::Info);
  std::unique_ptr<kube::Client> client;
  BootReader boots;
  const BootReader::Moment now = std::chrono::steady_clock::now();
};

TEST_F(Boots, AreReadWhereThatMayWaitAndBelievedForHalfAMinute) {
  EXPECT_EQ(check("a", now, false), "later");
  EXPECT_EQ(asked(), 0);
  ASSERT_TRUE(tests::eventually([&] { return check("a", now) == "same"; }));
  put("b");
  EXPECT_EQ(check("a", now + 30s, false), "same");
  EXPECT_EQ(check("a", now + 31s, false), "later");
  EXPECT_EQ(check("a", now + 31s), "other");
  EXPECT_EQ(check("b", now + 31s, false), "same") << "the agent has written";
}

// A kubelet may write its boot after its node's agent has written its own.
TEST_F(Boots, AnotherBootIsBelievedForTwoSeconds) {
  ASSERT_TRUE(tests::eventually([&] { return check("b", now) == "other"; }));
  EXPECT_EQ(check("b", now + 2s, false), "other");
  EXPECT_EQ(check("b", now + 3s, false), "later");
  put("b");
  EXPECT_EQ(check("b", now + 3s), "same");
}

TEST_F(Boots, WhatNobodyTellsIsUnknownAndNotAskedAgain) {
  put("", "virtual");
  for (const char* node : {"virtual", "gone"}) {
    ASSERT_EQ(check("a", now, true, node), "unknown");
    EXPECT_EQ(check("a", now + 30s, false, node), "unknown");
  }
  EXPECT_EQ(asked(), 2);
  EXPECT_EQ(check("", now), "unknown") << "a table without a boot";
  EXPECT_EQ(check("a", now, true, "../pods"), "unknown");
  EXPECT_EQ(asked(), 2);
  EXPECT_EQ(log.str(), "");
}

// No right, too many requests, no answer: one Binding waits, and is told apart from a boot that is the same.
TEST_F(Boots, AfterAFailureNoneIsReadForFiveSeconds) {
  auto at = now;
  for (const int status : {403, 429, 500, 0}) {
    at += 1h;
    if (status == 0)
      api.hang(kNodes + "/gpu-1");
    else
      api.refuse_path(kNodes + "/gpu-1", status);
    const auto before = asked();
    EXPECT_EQ(check("a", at), "unknown");
    EXPECT_EQ(check("a", at + 4s, false), "unknown");
    EXPECT_EQ(check("a", at + 4s, true, "gpu-2"), "unknown");
    EXPECT_EQ(check("a", at + 5s, false), "later");
    EXPECT_EQ(check("a", at + 5s), "unknown");
    EXPECT_EQ(asked(), before + 2);
  }
  EXPECT_THAT(log.str(), HasSubstr("Nodes cannot be read"));
}

TEST_F(Boots, AProblemIsLoggedOnceUntilItIsOver) {
  const auto warnings = [this] {
    const std::string text = log.str(), mark = "Nodes cannot be read";
    int count = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++count;
    return count;
  };
  api.refuse_path(kNodes + "/gpu-1", 403);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(check("a", now + i * 10s), "unknown");
  EXPECT_EQ(warnings(), 1);
  api.refuse_path(kNodes + "/gpu-1", 0);
  ASSERT_TRUE(tests::eventually([&] { return check("a", now + 60s + asked() * 6s) == "same"; }));
  api.refuse_path(kNodes + "/gpu-1", 403);
  EXPECT_EQ(check("a", now + std::chrono::hours(1)), "unknown");
  EXPECT_EQ(warnings(), 2);
}

TEST_F(Boots, ABudgetOfTheirOwnBoundsThem) {
  int read = 0;
  for (int i = 0; i < 500; ++i) {
    const auto before = asked();
    EXPECT_EQ(check("a", now, true, "n" + std::to_string(i)), "unknown");
    read += asked() > before ? 1 : 0;
  }
  EXPECT_LE(read, 400);
  EXPECT_GE(read, 300) << "unless a busy machine misses the deadline";
}

}  // namespace
}  // namespace nccl_env::store::boot_reader_test
