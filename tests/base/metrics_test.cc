// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace nccl_env::metrics_test {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, EverySeriesIsRenderedFromTheStart) {
  MetricRegistry registry;
  auto& requests = registry.add_counter({"requests_total", "Requests.", {"code"}, {{"2xx"}, {"4xx"}}});
  requests.add(1, 3);
  EXPECT_EQ(registry.render(),
            "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
            "requests_total{code=\"2xx\"} 0\nrequests_total{code=\"4xx\"} 3\n");
}

TEST(Metrics, LabelValuesAreEscaped) {
  MetricRegistry registry;
  registry.add_gauge({"g", "h", {"name"}, {{"a\"b\\c\nd"}}}, [](std::size_t) { return 1.5; });
  EXPECT_THAT(registry.render(), HasSubstr(R"(g{name="a\"b\\c\nd"} 1.5)"));
}

TEST(Metrics, HistogramBucketsAreCumulativeAndBoundsInclusive) {
  MetricRegistry registry;
  auto& seconds = registry.add_histogram({"seconds", "h", {}, {{}}}, {0.25, 1});
  for (const double value : {0.25, 0.5, 4.0}) seconds.observe(value);
  const std::string text = registry.render();
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"0.25\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("seconds_sum 4.75\n"));
}

TEST(Metrics, ReadersAreAskedAtEachRendering) {
  MetricRegistry registry;
  double value = 1;
  registry.add_counter_reader({"c", "h", {}, {{}}}, [&value](std::size_t) { return value++; });
  EXPECT_THAT(registry.render(), HasSubstr("c 1\n"));
  EXPECT_THAT(registry.render(), HasSubstr("c 2\n"));
}

TEST(Metrics, ASeriesWithoutAValueIsLeftOut) {
  MetricRegistry registry;
  registry.add_gauge({"g", "h", {"kind"}, {{"a"}, {"b"}}},
                     [](std::size_t i) { return i == 0 ? kNoValue : 2; });
  EXPECT_EQ(registry.render(), "# HELP g h\n# TYPE g gauge\ng{kind=\"b\"} 2\n");
}

TEST(Metrics, NoCountIsLostBetweenThreads) {
  MetricRegistry registry;
  auto& counter = registry.add_counter({"c", "h", {}, {{}}});
  auto& histogram = registry.add_histogram({"h", "h", {}, {{}}}, {1, 2});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        counter.add();
        histogram.observe(2);
        if (i % 1000 == 0) (void)registry.render();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 20000u);
  EXPECT_EQ(histogram.snapshot().counts[1], 20000u);
  EXPECT_EQ(histogram.snapshot().sum, 40000.0);
}

}  // namespace
}  // namespace nccl_env::metrics_test
