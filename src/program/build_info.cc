// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/build_info.h"

#include "nccl_env/core/nccl/version.h"
#include "nccl_env/program/version.h"

namespace nccl_env::app {
namespace {

// The releases of NCCL whose rules are known begin here.
constexpr std::string_view kOldestNccl = "2.18";

}  // namespace

void add_build_info(MetricRegistry& registry) {
  registry.add_gauge(
      {"nccl_env_build_info",
       "Version of the program, and the releases of NCCL whose rules it knows; always 1.",
       {"version", "nccl_rules"},
       {{std::string(kVersion), std::string(kOldestNccl) + "-" + std::to_string(kNewestNccl.major) + "." +
                                    std::to_string(kNewestNccl.minor)}}},
      [](std::size_t) { return 1.0; });
}

}  // namespace nccl_env::app
