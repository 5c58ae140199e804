// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace nccl_env::process_metrics_test {
namespace {

double value_of(const MetricRegistry& registry, const std::string& name) {
  const std::string text = registry.render();
  const std::size_t line = text.find("\n" + name + " ");
  return line == std::string::npos ? -1 : std::strtod(text.c_str() + line + name.size() + 2, nullptr);
}

TEST(ProcessMetrics, AreTheKernels) {
  MetricRegistry registry;
  const auto log = Logger::to_stderr(LogLevel::Off);
  add_process_metrics(registry, *log);
  rusage used{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &used), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  EXPECT_NEAR(value_of(registry, "process_cpu_seconds_total"),
              seconds(used.ru_utime) + seconds(used.ru_stime), 0.5);
  EXPECT_GT(value_of(registry, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(value_of(registry, "process_virtual_memory_bytes"),
            value_of(registry, "process_resident_memory_bytes"));
  EXPECT_GE(value_of(registry, "process_threads"), 1);
  EXPECT_NEAR(value_of(registry, "process_start_time_seconds"), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_GT(value_of(registry, "process_max_fds"), 10);

  const double open = value_of(registry, "process_open_fds");
  EXPECT_GE(open, 3);
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(value_of(registry, "process_open_fds"), open + 1);
  ::close(descriptor);
}

}  // namespace
}  // namespace nccl_env::process_metrics_test
