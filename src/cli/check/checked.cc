// SPDX-License-Identifier: Apache-2.0
#include "check/checked.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::cli {
namespace {

constexpr std::string_view kGood = "ok";
constexpr std::size_t kWordGap = 2, kWordWidth = std::string_view("warning").size() + kWordGap;

// A command stays in one piece, so that it can be copied; sentences end with a stop.
bool is_command(std::string_view remedy) {
  return !remedy.ends_with('.') && (remedy.starts_with("kubectl ") || remedy.starts_with("nccl-env "));
}

// The worst first.
Checks by_urgency(Checks checks) {
  std::ranges::stable_sort(checks, {},
                           [](const Checked& each) { return std::pair(each.good, each.finding.severity); });
  return checks;
}

// "14 checks: 2 errors (Webhook, Agents), 1 info, 11 ok"
std::string verdict_of(const Checks& checks) {
  std::vector<std::string> told;
  for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Info}) {
    std::vector<std::string_view> codes;
    for (const Checked& checked : checks) {
      if (!checked.good && checked.finding.severity == severity)
        codes.push_back(to_string(checked.finding.code));
    }
    if (codes.empty()) continue;
    told.push_back(severity == Severity::Info ? std::to_string(codes.size()) + " info"
                                              : count_of(codes.size(), std::string(to_string(severity))) +
                                                    " (" + join(std::set(codes.begin(), codes.end())) + ")");
  }
  const auto good = std::ranges::count(checks, true, &Checked::good);
  if (good > 0) told.push_back(std::to_string(good) + " " + std::string(kGood));
  return count_of(checks.size(), "check") + ": " + join(told);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  cell.resize(std::max(width, cell.size()), ' ');
  return cell;
}

// Wraps the sentence behind `head`; further lines are indented to where the sentence begins.
std::string indented(const std::string& head, std::string_view sentence) {
  std::string text, before = head;
  for (const std::string& part : wrap(printable(sentence), kTextWidth - head.size())) {
    text += before + part + "\n";
    before.assign(head.size(), ' ');
  }
  return text;
}

}  // namespace

std::vector<Finding> findings_of(const Checks& checks) {
  std::vector<Finding> findings;
  for (const Checked& checked : by_urgency(checks)) {
    if (!checked.good) findings.push_back(checked.finding);
  }
  return findings;
}

std::string render_text(const Checks& checks) {
  std::size_t width = 0;
  for (const Checked& checked : checks) width = std::max(width, to_string(checked.finding.code).size());
  std::string text = checks.size() > 1 ? paragraph(verdict_of(checks)) + "\n" : "";
  for (const Checked& checked : by_urgency(checks)) {
    const Finding& finding = checked.finding;
    text += indented(padded(checked.good ? kGood : to_string(finding.severity), kWordWidth) +
                         padded(to_string(finding.code), width + kWordGap),
                     finding.sentence);
    if (finding.remedy.empty()) continue;
    text += is_command(finding.remedy) ? "  Do: " + printable(finding.remedy) + "\n"
                                       : indented("  Do: ", finding.remedy);
  }
  return text;
}

nlohmann::ordered_json to_json(const Checks& checks) {
  const std::vector<Finding> findings = findings_of(checks);
  nlohmann::ordered_json json{{"good", is_good(findings)},
                              {"sentence", verdict_of(checks)},
                              {"errors", count(findings, Severity::Error)},
                              {"warnings", count(findings, Severity::Warning)},
                              {"infos", count(findings, Severity::Info)},
                              {"findings", nccl_env::to_json(findings)}};
  auto& good = json[std::string(kGood)] = nlohmann::ordered_json::array();
  for (const Checked& checked : checks) {
    if (checked.good)
      good.push_back({{"code", to_string(checked.finding.code)}, {"sentence", checked.finding.sentence}});
  }
  return json;
}

}  // namespace nccl_env::cli
