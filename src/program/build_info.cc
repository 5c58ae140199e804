// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/build_info.h"

#include <string>

#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/program/version.h"

namespace nccl_env::program {
namespace {

std::string minor_release(const NcclVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

}  // namespace

void add_build_info(MetricRegistry& registry) {
  registry.add_gauge(
      {"nccl_env_build_info",
       "Version of the program, and the releases of NCCL whose rules it knows; always 1.",
       {"version", "nccl_rules"},
       {{std::string(kVersion), minor_release(kOldestNccl) + "-" + minor_release(kNewestNccl)}}},
      [](std::size_t) { return 1.0; });
}

}  // namespace nccl_env::program
