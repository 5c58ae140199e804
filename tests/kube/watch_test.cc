// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/watch.h"

#include "support/matchers.h"

#include <nlohmann/json.hpp>

namespace nccl_env::kube::watch_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;
using ::testing::Ge;
using ::testing::Le;

std::string object(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}
std::string event(const std::string& type, const std::string& what) {
  return R"({"type":")" + type + R"(","object":)" + what + "}";
}
Reply list(const std::string& items, int version, const std::string& next = "") {
  return {200, R"({"kind":"XList","items":[)" + items + R"(],"metadata":{"resourceVersion":")" +
                   std::to_string(version) + R"(","continue":")" + next + R"("}})"};
}

class Recorder : public TreeSink {
 public:
  std::vector<std::string> seen;
  void begin_list() override { seen.emplace_back("begin"); }
  void list_item(const nlohmann::json& o) override { seen.push_back("item " + name(o)); }
  void complete_list() override { seen.emplace_back("complete"); }
  void upsert(const nlohmann::json& o) override { seen.push_back("upsert " + name(o)); }
  void remove(const nlohmann::json& o) override { seen.push_back("remove " + name(o)); }

 private:
  static std::string name(const nlohmann::json& o) { return o["metadata"]["name"]; }
};

class WatchMachine : public ::testing::Test {
 protected:
  Recorder sink;
  Watch::Time now{1h};
  Watch watch{{"/api/v1/namespaces", "nccl-env.io/policy", 2}, 1};

  void list_all() {
    watch.page(list(object("a", 5), 7), sink, now);
    ASSERT_EQ(watch.state(), Watch::State::Watching);
    sink.seen.clear();
  }
  void open() {
    list_all();
    watch.opened(now);
  }
  bool line(const std::string& text) { return watch.line(text, sink, now); }
};

TEST(WatchOfOneObject, AsksForItAloneAndAtItsOwnPace) {
  Recorder sink;
  const Watch::Time now{1h};
  Watch watch({"/nodefabrics", "", 1, "metadata.name=gpu-1", {3600s, 10s, 300s, 60s}}, 1);
  EXPECT_EQ(watch.next().target, "/nodefabrics?fieldSelector=metadata.name%3Dgpu-1&limit=1");
  watch.failed("no answer", now);
  EXPECT_THAT(watch.next().delay, AllOf(Ge(5s), Le(10s)));
  for (int i = 0; i < 10; ++i) watch.failed("no answer", now);
  EXPECT_THAT(watch.next().delay, AllOf(Ge(30s), Le(60s)));
  // The pause itself is not the calm that forgets failures.
  for (Watch::Time time = now; time < now + 1h; time += watch.next().delay)
    watch.page({403, "{}"}, sink, time);
  EXPECT_THAT(watch.next().delay, AllOf(Ge(150s), Le(300s)));
  watch.page(list(object("gpu-1", 5), 7), sink, now);
  const auto step = watch.next();
  EXPECT_THAT(step.target, HasSubstr("?fieldSelector=metadata.name%3Dgpu-1&watch=1&"));
  EXPECT_THAT(step.length, AllOf(Ge(3600s), Le(7200s)));
}

TEST_F(WatchMachine, ListsPageByPageThenWatchesFromTheListsVersion) {
  auto step = watch.next();
  EXPECT_EQ(step.kind, Watch::Step::Kind::List);
  EXPECT_EQ(step.target, "/api/v1/namespaces?labelSelector=nccl-env.io%2Fpolicy&limit=2");
  EXPECT_EQ(step.delay, 0ms);
  watch.page(list(object("a", 5) + "," + object("b", 6), 7, "to/ken="), sink, now);
  EXPECT_EQ(watch.state(), Watch::State::Paging);
  EXPECT_THAT(watch.next().target, HasSubstr("&continue=to%2Fken%3D"));
  watch.page(list(object("c", 6), 7), sink, now);
  EXPECT_THAT(sink.seen, ElementsAre("begin", "item a", "item b", "item c", "complete"));
  step = watch.next();
  EXPECT_EQ(step.kind, Watch::Step::Kind::Watch);
  EXPECT_THAT(step.target, HasSubstr("?labelSelector=nccl-env.io%2Fpolicy&watch=1&allowWatchBookmarks=true&"
                                     "resourceVersion=7&timeoutSeconds="));
  EXPECT_THAT(step.length, AllOf(Ge(300s), Le(600s)));
  EXPECT_EQ(watch.lists(), 1u);
}

TEST_F(WatchMachine, EventsReachTheSinkAndMoveTheVersion) {
  open();
  EXPECT_TRUE(line(event("ADDED", object("b", 8))));
  EXPECT_TRUE(line(event("MODIFIED", object("a", 9))));
  EXPECT_TRUE(line(event("DELETED", object("b", 10))));
  EXPECT_THAT(sink.seen, ElementsAre("upsert b", "upsert a", "remove b"));
  EXPECT_TRUE(line(event("BOOKMARK", R"({"metadata":{"resourceVersion":"42"}})")));
  EXPECT_EQ(sink.seen.size(), 3u);
  watch.ended(now);
  const auto step = watch.next();
  EXPECT_THAT(step.target, HasSubstr("resourceVersion=42&"));
  EXPECT_EQ(step.delay, 0ms);
  Watch other({"/api/v1/namespaces", "", 2}, 12345);
  other.page(list("", 7), sink, now);
  EXPECT_NE(step.length, other.next().length) << "of another seed";
}

TEST_F(WatchMachine, AContinueThatExpiredBeginsTheListAnew) {
  watch.page(list(object("a", 5), 7, "next"), sink, now);
  watch.page({410, "{}"}, sink, now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
  EXPECT_THAT(watch.next().target, Not(HasSubstr("continue")));
  EXPECT_GT(watch.next().delay, 0ms);
  watch.page(list(object("b", 8), 9), sink, now);
  EXPECT_THAT(sink.seen, ElementsAre("begin", "item a", "begin", "item b", "complete"));
}

TEST_F(WatchMachine, APageThatFailedInPassingIsAskedForAgain) {
  watch.page(list(object("a", 5), 7, "next"), sink, now);
  watch.page({429, "{}"}, sink, now);
  EXPECT_THAT(watch.next().target, HasSubstr("continue=next"));
  watch.failed("refused", now);
  EXPECT_THAT(watch.next().target, HasSubstr("continue=next"));
  watch.page(list(object("b", 6), 7), sink, now);
  EXPECT_THAT(sink.seen, ElementsAre("begin", "item a", "item b", "complete"));
  EXPECT_EQ(watch.problem(), "");
}

TEST_F(WatchMachine, GoneMeansANewListWhetherAsStatusOrAsEvent) {
  list_all();
  watch.refused({410, R"({"message":"too old resource version"})"}, now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
  EXPECT_EQ(watch.problem(), "watch: HTTP 410: too old resource version");

  watch.page(list(object("a", 5), 7), sink, now);
  watch.opened(now);
  EXPECT_FALSE(
      line(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})")));
  watch.ended(now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
  EXPECT_EQ(watch.problem(), "watch: HTTP 410: too old");
  watch.page(list(object("c", 9), 9), sink, now);
  EXPECT_EQ(watch.lists(), 3u);
}

TEST_F(WatchMachine, AnErrorThatPassesKeepsTheVersion) {
  open();
  EXPECT_FALSE(line(event("ERROR", R"({"code":500,"message":"etcd leader changed"})")));
  watch.ended(now);
  EXPECT_THAT(watch.next().target, HasSubstr("resourceVersion=7&"));
  EXPECT_GT(watch.next().delay, 0ms);
  for (const int status : {401, 403, 429, 503}) {
    EXPECT_NE(watch.problem(), "");
    watch.opened(now);
    EXPECT_EQ(watch.problem(), "") << "over once a watch is open";
    watch.refused({status, ""}, now);
    EXPECT_EQ(watch.state(), Watch::State::Watching) << status;
  }
  watch.refused({400, ""}, now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
}

TEST_F(WatchMachine, AVersionThatIsRefusedFiveTimesIsGivenUp) {
  list_all();
  for (int i = 0; i < 4; ++i) {
    watch.refused({504, R"({"message":"Too large resource version"})"}, now);
    EXPECT_EQ(watch.state(), Watch::State::Watching) << i;
  }
  watch.failed("no answer", now);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
  watch.refused({504, ""}, now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
}

TEST_F(WatchMachine, WhatIsNoEventMeansANewListAndNeverACrash) {
  std::vector<std::string> texts{"garbage",
                                 "{}",
                                 "[]",
                                 "3",
                                 "\"\"",
                                 R"({"type":"ADDED"})",
                                 R"({"type":3,"object":{}})",
                                 "{\"type\":\"\xff\"}",
                                 event("BOOKMARK", "{}"),
                                 event("LATER", object("a", 1)),
                                 event("ERROR", "null"),
                                 event("ERROR", R"({"code":"x"})")};
  for (const char* added : {"3", "{}", R"({"metadata":[]})", R"({"metadata":{"name":"a"}})",
                            R"({"metadata":{"resourceVersion":"3"}})"})
    texts.push_back(event("ADDED", added));
  for (const std::string& bad : texts) {
    open();
    EXPECT_FALSE(line(bad)) << bad;
    EXPECT_EQ(watch.state(), Watch::State::Empty) << bad;
    EXPECT_THAT(sink.seen, IsEmpty());
    EXPECT_NE(watch.problem(), "");
    watch.ended(now);
    EXPECT_EQ(watch.state(), Watch::State::Empty) << bad;
  }
}

TEST_F(WatchMachine, AListThatIsNoneIsNotTakenForAnEmptyOne) {
  const std::string cut = list(object("a", 1), 7).body.substr(0, 60);
  for (const char* bad :
       {"", "{}", "[]", "null", R"({"items":[]})", R"({"metadata":{"resourceVersion":"7"}})",
        R"({"items":[3],"metadata":{"resourceVersion":"7"}})",
        R"({"items":[{}],"metadata":{"resourceVersion":"7"}})",
        R"({"items":[[]],"metadata":{"resourceVersion":"7"}})", cut.c_str()}) {
    watch.page({200, bad}, sink, now);
    EXPECT_EQ(watch.state(), Watch::State::Empty) << bad;
    EXPECT_THAT(watch.problem(), HasSubstr("list")) << bad;
  }
  EXPECT_THAT(sink.seen, Not(::testing::Contains("complete")));
  watch.page({200, R"({"items":null,"metadata":{"resourceVersion":"7"}})"}, sink, now);
  EXPECT_EQ(watch.state(), Watch::State::Watching) << "null items are an empty list";
}

TEST_F(WatchMachine, DelaysGrowToThirtySecondsForRefusalsAndToFourForSilence) {
  std::vector<std::chrono::milliseconds> delays;
  for (int i = 0; i < 12; ++i) {
    watch.page({503, ""}, sink, now);
    delays.push_back(watch.next().delay);
  }
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const auto full = std::min(30'000ms, 200ms * (1 << i));
    EXPECT_THAT(delays[i], AllOf(Ge(full / 2), Le(full))) << i;
  }
  for (int i = 0; i < 12; ++i) watch.failed("connection refused", now);
  EXPECT_THAT(watch.next().delay, AllOf(Ge(2s), Le(4s)));
}

// It takes no connections, then knows nobody's rights yet, then answers.
TEST_F(WatchMachine, AServerThatStartsIsAskedAgainSoon) {
  for (int start = 0; start < 5; ++start) {
    for (int i = 0; i < 12; ++i) watch.failed("connection refused", now);
    watch.page({403, ""}, sink, now);
    EXPECT_THAT(watch.next().delay, Le(200ms)) << start;
    watch.page({503, ""}, sink, now);
    EXPECT_THAT(watch.next().delay, Le(400ms)) << start;
    watch.page(list(object("a", 5), 7, "next"), sink, now);
    watch.failed("reset", now);
    EXPECT_THAT(watch.next().delay, Le(200ms)) << start;
  }
}

TEST_F(WatchMachine, AServerThatStartsHasNotLostTheVersion) {
  open();
  for (int i = 0; i < 20; ++i) watch.refused({i % 2 == 0 ? 403 : 429, ""}, now);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
  EXPECT_THAT(watch.next().delay, Ge(15s));
  watch.opened(now);
  EXPECT_TRUE(line(event("BOOKMARK", object("", 9))));
  watch.refused({403, ""}, now);
  EXPECT_THAT(watch.next().delay, Le(200ms));
}

TEST_F(WatchMachine, AServerThatStartsForMinutesOrOnceMoreHasNotLostItEither) {
  open();
  for (int i = 0; i < 60; ++i) watch.refused({i % 2 == 0 ? 429 : 503, ""}, now + i * 5s);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
  watch.failed("connection refused", now + 300s);
  for (int i = 0; i < 6; ++i) watch.refused({403, ""}, now + 301s);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
  watch.refused({500, ""}, now + 302s);
  EXPECT_EQ(watch.state(), Watch::State::Empty) << "etcd may have been restored";
}

// As with a role that has `list` and not `watch`.
TEST_F(WatchMachine, WhereWatchesAreRefusedForGoodItListsNowAndThen) {
  open();
  for (int i = 0; i < 20; ++i) watch.refused({403, ""}, now + i * 2s);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
  watch.refused({403, ""}, now + 60s);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
  watch.page(list(object("b", 8), 9), sink, now + 61s);
  watch.refused({403, ""}, now + 61s);
  EXPECT_EQ(watch.state(), Watch::State::Watching);
}

TEST_F(WatchMachine, AListThatNeverEndsIsBegunEverMoreRarely) {
  for (int i = 0; i < 12; ++i) {
    watch.page(list(object("a", 5), 7, "next"), sink, now);
    watch.page({410, "{}"}, sink, now);
  }
  EXPECT_THAT(watch.next().delay, AllOf(Ge(15s), Le(30s)));
}

TEST_F(WatchMachine, AListOfEverNewPagesIsGivenUp) {
  for (int i = 0; i < 2000; ++i) {
    watch.page(list("", 7, "next-" + std::to_string(i)), sink, now);
    ASSERT_EQ(watch.state(), Watch::State::Paging) << i;
  }
  watch.page(list("", 7, "more"), sink, now);
  EXPECT_EQ(watch.state(), Watch::State::Empty);
  EXPECT_EQ(watch.problem(), "list: more than 2000 pages");
  list_all();
}

TEST_F(WatchMachine, AMinuteOfCalmForgetsFailures) {
  for (int i = 0; i < 12; ++i) watch.failed("refused", now);
  now += watch.next().delay + 61s;
  watch.failed("refused", now);
  EXPECT_THAT(watch.next().delay, Le(200ms));
}

TEST_F(WatchMachine, AServerThatEndsWatchesAtOnceIsNotAskedInALoop) {
  open();
  watch.ended(now);
  EXPECT_GT(watch.next().delay, 0ms);
  watch.opened(now);
  watch.ended(now + 2s);
  EXPECT_EQ(watch.next().delay, 0ms);
  watch.opened(now);
  EXPECT_TRUE(line(event("ADDED", object("b", 8))));
  watch.ended(now);
  EXPECT_EQ(watch.next().delay, 0ms);
}

}  // namespace
}  // namespace nccl_env::kube::watch_test
