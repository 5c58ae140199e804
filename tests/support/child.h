// SPDX-License-Identifier: Apache-2.0
// A program that a test starts and talks to. It does not outlive the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/patience.h"

namespace nccl_env::tests {

class Child {
 public:
  // stdin and stdout are pipes; stderr goes to the file, or to the test's where that is "".
  explicit Child(const std::vector<std::string>& command, const std::filesystem::path& error_file = {});
  ~Child();  // kills it if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write(std::string_view text) const;
  void close_input();
  // stdout up to and with `marker`, or what came in kPatience or until its end.
  std::string read_until(std::string_view marker);
  std::string read_all() { return read_until({}); }
  void signal(int number) const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The exit code (128 + signal number if it was killed), or nothing if it still runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit = kPatience);

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string unread_;
  std::optional<int> exit_code_;
};

struct CommandResult {
  int code = -1;
  std::string output;
};
// Runs to its end; `input` is at most what a pipe holds.
CommandResult run_command(const std::vector<std::string>& command, std::string_view input = {},
                          const std::filesystem::path& error_file = {});

}  // namespace nccl_env::tests
