// SPDX-License-Identifier: Apache-2.0
// The share of the machine that the kernel lets this process have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace nccl_env {

struct ContainerLimits {
  std::optional<double> cpus;           // CPU seconds per second
  std::optional<std::uint64_t> memory;  // bytes
};

// Reads the limits of this process's control group and of all visible groups above it (version 1 or 2); the
// smallest limit counts. Absent: no limit, or it cannot be read. `root` stands before /proc and /sys.
ContainerLimits container_limits(const std::filesystem::path& root = "/");

// Returns how many threads to start by default: the CPUs of the process's affinity or those of its control
// group's quota (rounded up), whichever are fewer, and at most 8. Each thread has caches and parsers of its
// own, nodes have up to 256 CPUs, and one thread answers thousands of reviews per second.
int default_threads();

}  // namespace nccl_env
