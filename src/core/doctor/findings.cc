// SPDX-License-Identifier: Apache-2.0
#include "doctor/findings.h"

#include <algorithm>

namespace nccl_env::doctor {
namespace {

constexpr std::size_t kMostNames = 4;

}  // namespace

std::string count_of(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNames) text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

void each_fabric_port(const PoolView& pool, const OnPort& visit) {
  for (const Rail& rail : pool.rails) {
    if (!rail.fabric) continue;
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      if (rail.ports[i]) visit(*pool.nodes[i], rail, *rail.ports[i]);
    }
  }
}

}  // namespace nccl_env::doctor
