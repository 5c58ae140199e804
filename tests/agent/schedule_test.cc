// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace nccl_env::agent::schedule_test {
namespace {

using namespace std::chrono_literals;
using Time = PublishSchedule::Time;

// The agent's loop without clock, devices and store.
class Simulation {
 public:
  explicit Simulation(double random = 0.5) : Simulation([random] { return random; }) {}
  explicit Simulation(PublishSchedule::Random random) : schedule_({}, std::move(random)) {}

  // Everything that is due until then happens, at its time.
  void run_until(std::chrono::milliseconds end) {
    for (;;) {
      if (schedule_.begin_due(now_)) {
        ++begins;
        schedule_.on_begin_started();
        schedule_.on_begin_ended(now_, store_answers);
      }
      if (schedule_.look_due(now_)) {
        looks.push_back(since_start());
        schedule_.on_look(now_, std::exchange(differs, false));
      }
      if (schedule_.publish_due(now_)) {
        schedule_.on_publish_begin();
        (store_answers ? writes : failures).push_back(since_start());
        schedule_.on_publish_end(now_, store_answers, settled);
      }
      const Time next = std::max(schedule_.next(), now_ + 1ms);
      if (next > Time{} + end) break;
      now_ = next;
    }
    now_ = Time{} + end;
  }
  void change() {
    differs = true;
    event();
  }
  void event() { schedule_.on_event(now_); }
  void lose() { schedule_.on_loss(now_); }

  std::vector<std::chrono::milliseconds> looks, writes, failures;
  int begins = 0;
  bool store_answers = true;
  bool settled = true;
  bool differs = false;

 private:
  [[nodiscard]] std::chrono::milliseconds since_start() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_ - Time{});
  }
  PublishSchedule schedule_;
  Time now_{};
};

using Times = std::vector<std::chrono::milliseconds>;

// Its Node is read with each write.
TEST(PublishSchedule, ANewNodesTableIsWrittenMoreOftenUntilItsLabelsAreThere) {
  Simulation simulation;
  simulation.settled = false;
  simulation.run_until(62min);
  EXPECT_EQ(simulation.writes, (Times{0min, 1min, 3min, 7min, 15min, 31min}));
  simulation.run_until(64min);
  EXPECT_EQ(simulation.writes.size(), 7u);
  simulation.settled = true;
  simulation.run_until(200min);
  EXPECT_EQ(simulation.writes, (Times{0min, 1min, 3min, 7min, 15min, 31min, 63min, 123min, 183min}));
}

TEST(PublishSchedule, ALostTableIsBackWithinAMinuteAndNotThatOfAllNodesAtOnce) {
  for (const auto& [random, back] : {std::pair(0.0, 100'000ms), std::pair(0.999, 129'970ms)}) {
    Simulation simulation(random);
    simulation.run_until(100s);
    simulation.lose();
    simulation.run_until(10min);
    EXPECT_EQ(simulation.writes, (Times{0ms, back}));
  }
}

TEST(PublishSchedule, ALossIsForgottenWhereTheTableIsWrittenAnyway) {
  Simulation simulation;
  simulation.run_until(100s);
  simulation.lose();
  simulation.change();
  simulation.run_until(10min);
  EXPECT_EQ(simulation.writes, (Times{0ms, 100'100ms}));
}

TEST(PublishSchedule, WhoWritesTheSameObjectIsMetOnceAMinute) {
  Simulation simulation;
  simulation.run_until(100s);
  for (int i = 1; i <= 600; ++i) {
    simulation.lose();
    simulation.run_until(100s + i * 1s);
  }
  EXPECT_GE(simulation.writes.size(), 7u);
  EXPECT_LE(simulation.writes.size(), 11u);
}

TEST(PublishSchedule, ALostTableThatTheStoreRefusesIsTriedAgain) {
  Simulation simulation;
  simulation.run_until(100s);
  simulation.store_answers = false;
  simulation.lose();
  simulation.run_until(200s);
  EXPECT_GE(simulation.failures.size(), 3u);
  simulation.store_answers = true;
  simulation.run_until(10min);
  EXPECT_EQ(simulation.writes.size(), 2u);
}

TEST(PublishSchedule, NothingIsWrittenWhenNothingChangedButTheRefresh) {
  Simulation simulation;
  simulation.run_until(2h + 1min);
  EXPECT_EQ(simulation.writes, (Times{0ms, 1h, 2h}));
  EXPECT_GE(simulation.looks.size(), 120u);
  EXPECT_LE(simulation.looks.size(), 123u);
}

TEST(PublishSchedule, TheRefreshIsSpreadByAFifth) {
  Simulation early(0), late(0.9999);
  early.run_until(70min);
  late.run_until(73min);
  EXPECT_EQ(early.writes[1], 48min);
  EXPECT_GT(late.writes[1], 71min);
  EXPECT_LE(late.writes[1], 72min);
}

// 15 000 agents make thirty times as many writes as 500: 4 a second.
TEST(PublishSchedule, FiveHundredAgentsSpreadTheirRefreshes) {
  constexpr auto kWindow = 5min;
  constexpr std::size_t kFrom = 8h / kWindow, kTo = 12h / kWindow;  // by then the common start is forgotten
  std::minstd_rand random(1);
  std::vector<int> writes(kTo);
  for (int agent = 0; agent < 500; ++agent) {
    const auto begin = std::chrono::milliseconds(random() % 120'000);  // a DaemonSet's first pods
    Simulation simulation([&] { return static_cast<double>(random() % 10'000) / 10'000; });
    simulation.run_until(12h);
    for (const auto write : simulation.writes) {
      const auto window = static_cast<std::size_t>((begin + write) / kWindow);
      if (window < writes.size()) ++writes[window];
    }
  }
  int total = 0;
  for (std::size_t window = kFrom; window < kTo; ++window) {
    total += writes[window];
    EXPECT_LE(writes[window], 2 * 500 / 12) << "in the five minutes " << window;
  }
  EXPECT_NEAR(total, 4 * 500, 60);
}

TEST(PublishSchedule, AnEventWithoutAChangeWritesNothingAndOneWithItSoon) {
  Simulation simulation;
  simulation.run_until(10s);
  simulation.event();
  simulation.run_until(30s);
  EXPECT_EQ(simulation.looks, (Times{0ms, 10'100ms, 11'100ms, 13'100ms, 17'100ms}));
  EXPECT_EQ(simulation.writes, Times{0ms});
  simulation.change();
  simulation.run_until(40s);
  EXPECT_EQ(simulation.writes, (Times{0ms, 30'100ms}));
}

TEST(PublishSchedule, ABurstIsOneLook) {
  Simulation simulation;
  simulation.run_until(10s);
  for (int i = 0; i < 7; ++i) {
    simulation.change();
    simulation.run_until(10s + (i + 1) * 20ms);
  }
  simulation.run_until(11s);
  EXPECT_EQ(simulation.looks, (Times{0ms, 10'220ms}));
  simulation.run_until(20s);
  EXPECT_EQ(simulation.writes.size(), 2u);
}

// Linux tells of an address first and leaves its GID row to a work queue: no event follows the row.
TEST(PublishSchedule, ARowThatComesAfterItsEventIsSeenWithoutAnother) {
  for (const auto lag : {1ms, 99ms, 100ms, 101ms, 600ms, 1'099ms, 1'101ms, 3'000ms, 7'000ms}) {
    Simulation simulation;
    simulation.run_until(10s);
    simulation.event();
    simulation.run_until(10s + lag);
    simulation.differs = true;
    simulation.run_until(30s);
    ASSERT_EQ(simulation.writes.size(), 2u) << lag.count();
    EXPECT_LE(simulation.writes[1] - 10s, std::max<std::chrono::milliseconds>(1'100ms, 3 * lag))
        << lag.count();
  }
}

TEST(PublishSchedule, RowsThatComeOneByOneAfterTheirEventsAreSeenToTheLast) {
  Simulation simulation;
  simulation.run_until(10s);
  simulation.event();
  for (auto time = 10s; time <= 40s; time += 1s) {
    simulation.run_until(time);
    simulation.differs = true;
  }
  simulation.run_until(50s);
  EXPECT_FALSE(simulation.differs);
}

TEST(PublishSchedule, AnEventDuringALookMakesAnother) {
  PublishSchedule schedule({}, [] { return 0.5; });
  const Time now = Time{} + 10s;
  schedule.on_begin_started();
  schedule.on_begin_ended(now, true);
  schedule.on_look(now, true);
  schedule.on_event(now + 10s);
  // A look of five seconds, and what the sockets hold after it.
  schedule.on_look(now + 15s, true);
  schedule.on_event(now + 15s);
  schedule.on_publish_begin();
  schedule.on_publish_end(now + 15s, true);
  EXPECT_FALSE(schedule.look_due(now + 15s + 499ms));
  EXPECT_TRUE(schedule.look_due(now + 15s + 500ms));
}

// Pods come and go on a busy node: events without end.
TEST(PublishSchedule, EventsWithoutEndDelayNothingAndCostTwoLooksASecond) {
  Simulation simulation;
  simulation.run_until(10s);
  for (auto time = 10s + 10ms; time <= 20s; time += 10ms) {
    simulation.event();
    if (time == 15s) simulation.differs = true;
    simulation.run_until(time);
  }
  EXPECT_LE(simulation.looks.size(), 23u);
  ASSERT_EQ(simulation.writes.size(), 2u);
  EXPECT_LE(simulation.writes[1], 16s);
}

TEST(PublishSchedule, AStoreThatIsAwayIsTriedMoreAndMoreRarely) {
  Simulation simulation;
  simulation.run_until(10s);
  simulation.store_answers = false;
  simulation.change();
  simulation.run_until(1h);
  ASSERT_GE(simulation.failures.size(), 10u);
  EXPECT_LE(simulation.failures.size(), 40u);
  for (std::size_t i = 0; i + 1 < 7; ++i)
    EXPECT_EQ(simulation.failures[i + 1] - simulation.failures[i], 1s * (1 << i)) << i;
  EXPECT_EQ(simulation.failures[9] - simulation.failures[8], 120s);
  simulation.store_answers = true;
  simulation.run_until(1h + 2min);
  ASSERT_EQ(simulation.writes.size(), 2u);
  simulation.run_until(2h);
  EXPECT_EQ(simulation.writes.size(), 2u);  // the refresh counts from the last success
}

TEST(PublishSchedule, AChangeDuringAWriteIsWrittenAfterIt) {
  PublishSchedule schedule({}, [] { return 0.5; });
  Time now{};
  schedule.on_begin_started();
  EXPECT_EQ(schedule.next(), Time::max());
  EXPECT_FALSE(schedule.look_due(now));
  schedule.on_begin_ended(now, true);
  EXPECT_TRUE(schedule.look_due(now));
  schedule.on_look(now, true);
  schedule.on_publish_begin();
  schedule.on_look(now + 1s, true);
  EXPECT_FALSE(schedule.publish_due(now + 2s));  // one at a time
  schedule.on_publish_end(now + 3s, true);
  EXPECT_TRUE(schedule.publish_due(now + 3s));
}

TEST(PublishSchedule, BeforeTheStoreHasAnsweredNothingIsLookedAt) {
  Simulation simulation;
  simulation.store_answers = false;
  simulation.run_until(10s);
  EXPECT_TRUE(simulation.looks.empty());
  EXPECT_EQ(simulation.begins, 4);  // at 0, 1, 3 and 7 s
  simulation.store_answers = true;
  simulation.run_until(20s);
  EXPECT_EQ(simulation.looks, Times{15s});
  EXPECT_EQ(simulation.writes, Times{15s});
}

}  // namespace
}  // namespace nccl_env::agent::schedule_test
