// SPDX-License-Identifier: Apache-2.0
// A page's table of metrics, which the program's own descriptions make.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "nccl_env/base/metrics.h"
#include "nccl_env/core/text/join.h"
#include "support/places.h"

namespace nccl_env::tests {

inline constexpr std::string_view kMetricsBegin = "<!-- metrics: make goldens -->\n";
inline constexpr std::string_view kMetricsEnd = "<!-- metrics: end -->\n";

inline std::string metrics_table(const std::vector<MetricDesc>& metrics) {
  std::string table = "| name | labels | |\n|---|---|---|\n";
  for (const MetricDesc& metric : metrics)
    table += "| `" + metric.name + "` | " + join(metric.labels) + (metric.labels.empty() ? "" : " ") + "| " +
             metric.help + " |\n";
  return table;
}

// Expects the table between the page's two marks. With NCCL_ENV_WRITE_GOLDENS it is written there.
inline void expect_metrics_in(const std::string& page, const std::vector<MetricDesc>& metrics) {
  const std::string path = in_source("/" + page);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find(kMetricsBegin), end = text.find(kMetricsEnd);
  ASSERT_TRUE(begin != text.npos && end != text.npos && begin < end) << page;
  const auto table = begin + kMetricsBegin.size();
  if (std::getenv("NCCL_ENV_WRITE_GOLDENS") != nullptr) {
    std::ofstream(path) << text.substr(0, table) << metrics_table(metrics) << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(table, end - table), metrics_table(metrics)) << page << ": make goldens writes it";
}

}  // namespace nccl_env::tests
