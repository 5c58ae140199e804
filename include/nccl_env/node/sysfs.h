// SPDX-License-Identifier: Apache-2.0
// Sysfs: the kernel's attributes as bounded text. Devices come and go while they are read, so every call may
// fail at any time. Abstract so that tests can serve contents from memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env::node {

// Paths are relative to the root: "class/infiniband/mlx5_0/ports/1/state".
class Sysfs {
 public:
  Sysfs() = default;
  virtual ~Sysfs() = default;

  // The attribute without white space at its end. An attribute is at most a page; only the first 4096
  // bytes of a larger file are read.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path) const = 0;
  // The names in a directory, sorted; at most kMaxNames of them.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& path) const = 0;
  // Where the path ends with all links followed: "devices/pci0000:50/0000:53:00.0".
  [[nodiscard]] virtual Result<std::string> resolve(const std::string& path) const = 0;

  // Four times the largest GID table known (rxe, 1024 entries).
  static constexpr std::size_t kMaxNames = 4096;

 protected:
  Sysfs(const Sysfs&) = default;
  Sysfs& operator=(const Sysfs&) = default;
};

// `root` is /sys, or a copy of it. In a copy, a path whose links lead out of the copy is an error; before
// Linux 5.6 every path in a copy is an error. Calls are independent of each other and may come from any
// thread.
std::unique_ptr<Sysfs> open_sysfs(std::filesystem::path root);

}  // namespace nccl_env::node
