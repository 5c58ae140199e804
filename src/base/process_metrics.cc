// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nccl_env {
namespace {

// Numbers of proc(5).
enum StatField { kUserTime = 14, kSystemTime = 15, kThreads = 20, kVirtualBytes = 23, kResidentPages = 24 };

double stat_field(const std::string& line, StatField number) {
  // The name of the program may hold anything; the state behind it is field 3.
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string field;
  for (int i = 3; i <= number; ++i) fields >> field;
  return std::strtod(field.c_str(), nullptr);
}

std::string stat_line() {
  std::string line;
  std::ifstream file("/proc/self/stat");
  std::getline(file, line);
  return line;
}

double cpu_seconds() {
  const std::string line = stat_line();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return (stat_field(line, kUserTime) + stat_field(line, kSystemTime)) / ticks;
}

double resident_bytes() {
  return stat_field(stat_line(), kResidentPages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code error;
  double count = -1;  // without the one that lists them
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error))
    ++count;
  return std::max(count, 0.0);
}

double most_descriptors() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

}  // namespace

void add_process_metrics(MetricRegistry& registry, const Logger& log) {
  using Seconds = std::chrono::duration<double>;
  const double start = Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
  registry.add_counter_reader({"process_cpu_seconds_total", "CPU time of user and kernel, in seconds."},
                              [](std::size_t) { return cpu_seconds(); });
  registry.add_gauge({"process_resident_memory_bytes", "Resident memory, in bytes."},
                     [](std::size_t) { return resident_bytes(); });
  registry.add_gauge({"process_virtual_memory_bytes", "Virtual memory, in bytes."},
                     [](std::size_t) { return stat_field(stat_line(), kVirtualBytes); });
  registry.add_gauge({"process_threads", "Threads of the process."},
                     [](std::size_t) { return stat_field(stat_line(), kThreads); });
  registry.add_gauge({"process_open_fds", "Open file descriptors."},
                     [](std::size_t) { return open_descriptors(); });
  registry.add_gauge({"process_max_fds", "Most file descriptors that may be open."},
                     [](std::size_t) { return most_descriptors(); });
  registry.add_gauge({"process_start_time_seconds", "Start of the process, in seconds since 1970."},
                     [start](std::size_t) { return start; });
  registry.add_counter_reader({"nccl_env_log_lines_dropped_total",
                               "Lines that are missing in the log, because nobody read it in time."},
                              [&log](std::size_t) { return static_cast<double>(log.dropped()); });
}

}  // namespace nccl_env
