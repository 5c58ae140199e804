// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

// Cuts a stream of bytes into lines, keeping the one that isn't complete.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  // Calls `on_line` with each line that `bytes` complete, without the line's end; empty lines are left out.
  // Returns false as soon as `on_line` does, and an error if a line is longer than allowed.
  Result<bool> feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line);
  // The bytes after the last line's end.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::size_t max_line_;
  std::string rest_;
};

}  // namespace nccl_env
