// SPDX-License-Identifier: Apache-2.0
// A line of a log: how loggers, launchers and terminals wrap it (Docker's JSON, containerd's CRI form, time
// stamps, the prefixes of Slurm and Compose, colours), where a message of NCCL's begins and ends in it, and
// the version that a library tells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/nccl/version.h"

namespace nccl_env {

struct PlainLine {
  std::string text;   // as the program wrote it; JSON may hold several lines of it
  std::string stamp;  // taken off, and may tell the time of the day; "" if nothing does
};
PlainLine plain_line(std::string_view line);

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

// "NCCL version 2.21.5+cuda12.4", also in PyTorch's "NCCL error in: …, NCCL version 2.18.6"; "RCCL version :
// 2.22.3-HEAD:6bfc0dd", before 6.2 without the colon and with more behind.
std::string version_in(std::string_view line);

// Reads the log's form, "2.32.3+cuda13.0". RCCL logs the version of the NCCL release that it follows: "RCCL
// 2.22.3-HEAD:6bfc0dd".
std::optional<NcclVersion> logged_version(std::string_view text);

}  // namespace nccl_env
