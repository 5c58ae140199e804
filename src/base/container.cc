// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/container.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>

#include "nccl_env/base/file.h"

namespace nccl_env {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 64 << 10;
constexpr int kMaxThreads = 8;
constexpr std::uint64_t kNoLimit = std::uint64_t{1}
                                   << 60;  // version 1 writes "none" as the largest page count

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failed == std::errc() && (end == text.data() + text.size() || *end == '\n');
  return whole ? std::optional(number) : std::nullopt;  // "max" and "-1" are none
}

std::string text_in(const fs::path& file) {
  const auto text = read_file(file, kMaxFile);
  return text ? *text : std::string();
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  return number_of(text_in(file));
}

template <class T>
void keep_smaller(std::optional<T>& kept, std::optional<T> other) {
  if (other && (!kept || *other < *kept)) kept = other;
}

// Calls `each` for a group's folder and those above it, up to the file system's. Inside a container the path
// can be the host's, which does not exist there: then the container's own group is the top folder.
void climb(const fs::path& mount, const std::string& group,
           const std::function<void(const fs::path&)>& each) {
  for (fs::path at = fs::path(group).relative_path(); !at.empty(); at = at.parent_path()) each(mount / at);
  each(mount);
}

void read_version_2(const fs::path& folder, ContainerLimits& limits) {
  keep_smaller(limits.memory, number_in(folder / "memory.max"));
  const std::string quota = text_in(folder / "cpu.max");  // "150000 100000", or "max 100000"
  const std::size_t blank = std::min(quota.find(' '), quota.size());
  const auto time = number_of(std::string_view(quota).substr(0, blank));
  const auto period = number_of(std::string_view(quota).substr(std::min(blank + 1, quota.size())));
  if (time && period.value_or(0) > 0)
    keep_smaller(limits.cpus, std::optional(static_cast<double>(*time) / static_cast<double>(*period)));
}

void read_memory(const fs::path& folder, ContainerLimits& limits) {
  const auto bytes = number_in(folder / "memory.limit_in_bytes");
  if (bytes && *bytes < kNoLimit) keep_smaller(limits.memory, bytes);
}

void read_cpu(const fs::path& folder, ContainerLimits& limits) {
  const auto time = number_in(folder / "cpu.cfs_quota_us");
  const auto period = number_in(folder / "cpu.cfs_period_us");
  if (time && period.value_or(0) > 0)
    keep_smaller(limits.cpus, std::optional(static_cast<double>(*time) / static_cast<double>(*period)));
}

}  // namespace

ContainerLimits container_limits(const fs::path& root) {
  ContainerLimits limits;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::istringstream groups(text_in(root / "proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    const auto has = [&](std::string_view name) { return controllers.find(name) != controllers.npos; };
    if (line.starts_with("0::"))
      climb(mounts, group, [&](const fs::path& folder) { read_version_2(folder, limits); });
    if (has(",memory,"))
      climb(mounts / "memory", group, [&](const fs::path& folder) { read_memory(folder, limits); });
    if (has(",cpu,")) climb(mounts / "cpu", group, [&](const fs::path& folder) { read_cpu(folder, limits); });
  }
  return limits;
}

int default_threads() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const int usable = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  const auto quota = container_limits().cpus;
  const double most = std::ceil(std::min<double>(quota.value_or(kMaxThreads), kMaxThreads));
  return std::clamp(usable, 1, std::max(1, static_cast<int>(most)));
}

}  // namespace nccl_env
