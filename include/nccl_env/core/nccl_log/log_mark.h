// SPDX-License-Identifier: Apache-2.0
// Where a message of NCCL's begins and ends in a line, and what loggers put before it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nccl_env {

// The words "NCCL INFO" or "NCCL WARN" of a line.
struct LogMark {
  std::size_t at = std::string_view::npos;  // npos: none
  bool warning = false;
  std::size_t begin = 0;  // of the message
};

// Finds the first mark from `from` on.
LogMark find_mark(std::string_view text, std::size_t from);
// Returns the end of a message; if another process wrote into it, the place where that process's prefix
// begins.
std::size_t end_of_message(std::string_view text, std::size_t begin);

// Finds HOST:PID:TID in the text before a mark. Between HOST:PID:TID and the mark stand "[0]" and, in
// warnings, "file.cc:12 (function)"; text that loggers put before HOST:PID:TID is left out.
std::string_view prefix_of(std::string_view before);
// The first "15:16:23" of the text that stands alone or behind a date's T; "" if there is none.
// "gpu-a07:41:388" is a host and two numbers.
std::string clock_in(std::string_view text);

// The text behind "[rank1]: ", "[1,0]<stderr>:" and "(RayWorkerWrapper pid=1061, ip=10.0.0.2) ".
std::string_view behind_rank(std::string_view text);
// True if the text begins as such a message of NCCL's does, for lines that lost what stands before it: people
// post excerpts, and PyTorch prints the last error alone.
bool begins_like_info(std::string_view text);
bool begins_like_warning(std::string_view text);

}  // namespace nccl_env
