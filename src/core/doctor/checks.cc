// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.h"

#include <algorithm>
#include <tuple>

#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/hca_name.h"

namespace nccl_env::doctor {
namespace {

constexpr std::size_t kMostNames = 4;

// A clock that is minutes ahead makes a table seem fresh that is not.
constexpr std::chrono::minutes kClockSkew{5};

void check_age(Report& report) {
  for (const NodeView* node : report.pool.nodes) {
    if (!node->table->time) continue;
    const auto age = report.input.now - *node->table->time;
    const std::string seen = "observed " + format_timestamp(*node->table->time);
    if (age > report.input.max_table_age) {
      report.add(DoctorCheck::StaleTable, Severity::Warning, node, "",
                 seen + ", " + std::to_string(age / std::chrono::minutes(1)) + " minutes ago");
    } else if (age < -kClockSkew) {
      report.add(DoctorCheck::StaleTable, Severity::Warning, node, "", seen + ", which is in the future");
    }
  }
}

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

void check_node(Report& report) {
  check_age(report);
  std::vector<const NodeView*> without;
  for (const NodeView* node : report.pool.nodes) {
    if (node->reason) without.push_back(node);
  }
  const bool most = without.size() * 2 > report.pool.nodes.size();
  if (most && !report.pool.small()) {
    const NodeView& one = *without.front();
    report.add(DoctorCheck::NoFabric, Severity::Warning, nullptr, "",
               std::to_string(without.size()) + " of " + count_of(report.pool.nodes.size(), "node") + ", " +
                   std::string(to_string(*one.reason)) + " for one: " + one.detail);
    return;
  }
  for (const NodeView* node : without)
    report.add(DoctorCheck::NoFabric, Severity::Error, node, "",
               std::string(to_string(*node->reason)) + ": " + node->detail);
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
