// SPDX-License-Identifier: Apache-2.0
// Small files, whole: bounded reads, and writes that a reader sees entirely or not at all.
//
//   paths ----> read_file ----> text ----> [ yaml ] ----> JSON ----> [ yaml_writer ] ----> text
//                                                         |
//   [ Descriptor ] owned by who opened it                 +--> callers; nothing is kept here
//   [ Logger ] ----> its thread ----> standard error      shared by all that log; outlives them
//   [ MetricRegistry ] <---- counters and gauges          owned by a program; a scrape reads it
//   [ ContainerLimits ] <---- the kernel                  read once, at the start
//
// Each part stands alone, above files and descriptors.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env {

// The content; an error if the file can't be read, isn't regular or holds more than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

// Writes a temporary file beside `path`, syncs it and renames it over `path`.
Status write_file(const std::filesystem::path& path, const std::string& content, mode_t mode);

}  // namespace nccl_env
