// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/print.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kSeverities = 3;
// A pool's nodes by name: enough to identify the pool.
constexpr std::size_t kMostNodes = 3;

// Tells of ports that no check could judge: that does not make them healthy.
std::string unknown_line(const Diagnosis& diagnosis) {
  std::size_t ports = 0;
  int unknown = 0;
  for (const NodeState& node : diagnosis.nodes) {
    ports += node.hcas.size();
    unknown += node.unknown_states;
  }
  if (unknown == 0) return {};
  return "state not known for " + std::to_string(unknown) + " of " + count_of(ports, "fabric port") + "\n";
}

std::string headline(const Diagnosis& diagnosis) {
  std::string text =
      count_of(diagnosis.nodes.size(), "node") + ", " + count_of(diagnosis.pools.size(), "pool") + ": ";
  std::string found;
  for (std::size_t i = 0; i < kSeverities; ++i) {
    const auto severity = static_cast<Severity>(i);
    const std::size_t number = count(diagnosis.findings, severity);
    if (number == 0) continue;
    found += (found.empty() ? "" : ", ") + (severity == Severity::Info
                                                ? std::to_string(number) + " info"
                                                : count_of(number, std::string(to_string(severity))));
  }
  return text +
         (found.empty()                 ? "healthy"
          : is_good(diagnosis.findings) ? "healthy, " + found
                                        : found) +
         "\n" + unknown_line(diagnosis);
}

std::string pools_text(const std::vector<Pool>& pools) {
  if (pools.empty()) return {};
  TextColumns columns(2);
  for (const Pool& pool : pools)
    columns.add({pool.name, count_of(pool.nodes.size(), "node"),
                 pool.shape + ": " + join_some(pool.nodes, kMostNodes)});
  return "\npools\n" + columns.render();
}

}  // namespace

std::string render_text(const Diagnosis& diagnosis) {
  return headline(diagnosis) + render_sections(diagnosis.findings) + pools_text(diagnosis.pools);
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_good(diagnosis.findings);
  json["nodes"] = diagnosis.nodes.size();
  json["errors"] = count(diagnosis.findings, Severity::Error);
  json["warnings"] = count(diagnosis.findings, Severity::Warning);
  json["infos"] = count(diagnosis.findings, Severity::Info);
  json["findings"] = to_json(diagnosis.findings);
  json["pools"] = OrderedJson::array();
  for (const Pool& pool : diagnosis.pools)
    json["pools"].push_back({{"name", pool.name}, {"shape", pool.shape}, {"nodes", pool.nodes}});
  return json;
}

}  // namespace nccl_env
