// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "doctor/checks.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::doctor {
namespace {

// A clock that is minutes ahead makes an old table seem fresh.
constexpr std::chrono::minutes kClockSkew{5};

void check_age(Report& report) {
  for (const NodeView* node : report.pool.nodes) {
    if (!node->table->time) continue;
    const auto age = report.input.now - *node->table->time;
    const std::string seen = "observed " + format_timestamp(*node->table->time);
    if (age > report.input.max_table_age) {
      report.add(Code::StaleTable, Severity::Warning, node, {},
                 seen + ", " + std::to_string(age / std::chrono::minutes(1)) + " minutes ago");
    } else if (age < -kClockSkew) {
      report.add(Code::StaleTable, Severity::Warning, node, {}, seen + ", which is in the future");
    }
  }
}

}  // namespace

void check_node(Report& report) {
  check_age(report);
  std::vector<const NodeView*> without;
  for (const NodeView* node : report.pool.nodes) {
    if (node->reason) without.push_back(node);
  }
  const bool most = without.size() * 2 > report.pool.nodes.size();
  if (most && !report.pool.small()) {
    const NodeView& one = *without.front();
    report.add(Code::NoFabric, Severity::Warning, nullptr, {},
               std::to_string(without.size()) + " of " + count_of(report.pool.nodes.size(), "node") + ", " +
                   std::string(to_string(*one.reason)) + " for one: " + one.detail);
    return;
  }
  for (const NodeView* node : without) {
    // Where pods hold some of the devices, the others may be too few to recognize the fabric.
    const bool exclusive = node->table->rdma_namespace_mode == RdmaNamespaceMode::Exclusive &&
                           node->reason == Reason::AmbiguousFabric;
    report.add(Code::NoFabric, exclusive ? Severity::Info : Severity::Error, node, {},
               std::string(to_string(*node->reason)) + ": " + node->detail +
                   (exclusive ? " In exclusive RDMA namespace mode a pod may hold the others." : ""));
  }
}

}  // namespace nccl_env::doctor
