// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/doctor/doctor.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kSeverities = 3;
// Indent, gaps and 34 characters; less is a column of single words.
constexpr std::size_t kLeastEvidence = 40;

std::size_t count_of(const Diagnosis& diagnosis, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string headline(const Diagnosis& diagnosis) {
  std::string text =
      counted(diagnosis.nodes.size(), "node") + ", " + counted(diagnosis.pools.size(), "pool") + ": ";
  std::string found;
  for (std::size_t i = 0; i < kSeverities; ++i) {
    const auto severity = static_cast<Severity>(i);
    const std::size_t count = count_of(diagnosis, severity);
    if (count == 0) continue;
    found += (found.empty() ? "" : ", ") + (severity == Severity::Info
                                                ? std::to_string(count) + " to know"
                                                : counted(count, std::string(to_string(severity))));
  }
  return text + (found.empty() ? "healthy" : is_healthy(diagnosis) ? "healthy, " + found : found) + "\n";
}

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  for (const std::string& line : wrap(printable(text), kTextWidth - indent))
    lines += std::string(indent, ' ') + line + "\n";
  return lines;
}

// Findings of one check and severity, which stand together.
std::string section(std::vector<Finding>::const_iterator begin, std::vector<Finding>::const_iterator end) {
  std::string text =
      "\n" + wrapped(std::string(to_string(begin->severity)) + " " + std::string(to_string(begin->check)) +
                         ": " + std::string(meaning(begin->check)),
                     0);
  TextColumns columns(2);
  std::string stacked;
  std::size_t longest_where = 0, longest_hca = 0;
  for (auto finding = begin; finding != end; ++finding) {
    std::string where = finding->node.empty() ? finding->pool : finding->node;
    if (where.empty()) where = "-";
    const std::string hca = finding->hca.empty() ? "-" : finding->hca;
    longest_where = std::max(longest_where, where.size());
    longest_hca = std::max(longest_hca, hca.size());
    stacked += wrapped(where + "  " + hca, 2) + wrapped(finding->evidence, 6);
    columns.add({std::move(where), hca, finding->evidence});
  }
  const bool room = longest_where + longest_hca + kLeastEvidence <= kTextWidth;
  return text + (room ? columns.render() : stacked) + wrapped("Do: " + std::string(remedy(begin->check)), 2);
}

std::string pools_text(const std::vector<Pool>& pools) {
  if (pools.empty()) return {};
  TextColumns columns(2);
  for (const Pool& pool : pools) {
    const std::string others =
        pool.nodes.size() == 1 ? pool.nodes.front() : pool.nodes.front() + " .. " + pool.nodes.back();
    columns.add({pool.name, counted(pool.nodes.size(), "node"), pool.shape + ": " + others});
  }
  return "\npools\n" + columns.render();
}

}  // namespace

std::string render_text(const Diagnosis& diagnosis) {
  std::string text = headline(diagnosis);
  for (auto begin = diagnosis.findings.begin(); begin != diagnosis.findings.end();) {
    const auto end = std::find_if(begin, diagnosis.findings.end(), [&](const Finding& finding) {
      return finding.check != begin->check || finding.severity != begin->severity;
    });
    text += section(begin, end);
    begin = end;
  }
  return text + pools_text(diagnosis.pools);
}

OrderedJson to_json(const Finding& finding) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
  };
  return {{"check", to_string(finding.check)}, {"severity", to_string(finding.severity)},
          {"node", or_null(finding.node)},     {"hca", or_null(finding.hca)},
          {"pool", or_null(finding.pool)},     {"evidence", finding.evidence},
          {"remedy", remedy(finding.check)}};
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  OrderedJson json = OrderedJson::object();
  json["healthy"] = is_healthy(diagnosis);
  json["nodes"] = diagnosis.nodes.size();
  json["errors"] = count_of(diagnosis, Severity::Error);
  json["warnings"] = count_of(diagnosis, Severity::Warning);
  json["infos"] = count_of(diagnosis, Severity::Info);
  json["findings"] = OrderedJson::array();
  for (const Finding& finding : diagnosis.findings) json["findings"].push_back(to_json(finding));
  json["pools"] = OrderedJson::array();
  for (const Pool& pool : diagnosis.pools)
    json["pools"].push_back({{"name", pool.name}, {"shape", pool.shape}, {"nodes", pool.nodes}});
  return json;
}

}  // namespace nccl_env
