// SPDX-License-Identifier: Apache-2.0
// A line as loggers, launchers and terminals wrap it: Docker's JSON, containerd's
// CRI form, time stamps, the prefixes of Slurm and Compose, colours.
#pragma once

#include <string>
#include <string_view>

namespace nccl_env {

struct PlainLine {
  std::string text;   // as the program wrote it; JSON may hold several lines of it
  std::string stamp;  // taken off, and may tell the time of the day; "" if nothing does
};
PlainLine plain_line(std::string_view line);

}  // namespace nccl_env
