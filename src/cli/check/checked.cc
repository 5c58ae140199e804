// SPDX-License-Identifier: Apache-2.0
#include "check/checked.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::cli {
namespace {

constexpr std::string_view kGood = "ok";
constexpr std::size_t kWordGap = 2, kWordWidth = std::string_view("warning").size() + kWordGap;

std::string_view word_of(const Checked& checked) {
  return checked.good ? kGood : to_string(checked.finding.severity);
}

// A command stays in one piece, so that it can be copied; sentences end with a stop.
bool is_command(std::string_view remedy) {
  return !remedy.ends_with('.') && (remedy.starts_with("kubectl ") || remedy.starts_with("nccl-env "));
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
  for (const Checked& checked : checks) {
    if (!checked.good) findings.push_back(checked.finding);
  }
  return findings;
}

std::string render_text(const Checks& checks) {
  std::size_t width = 0;
  for (const Checked& checked : checks) width = std::max(width, to_string(checked.finding.code).size());
  std::string text;
  std::map<std::string_view, std::size_t> counts;
  for (const Checked& checked : checks) {
    const std::string_view word = word_of(checked), remedy = checked.finding.remedy;
    ++counts[word];
    text += indented(padded(word, kWordWidth) + padded(to_string(checked.finding.code), width + kWordGap),
                     checked.finding.sentence);
    if (remedy.empty()) continue;
    text += is_command(remedy) ? "  Do: " + printable(remedy) + "\n" : indented("  Do: ", remedy);
  }
  std::vector<std::string> told;
  for (const std::string_view word :
       {std::string_view("error"), std::string_view("warning"), std::string_view("info"), kGood}) {
    if (counts[word] > 0) told.push_back(std::to_string(counts[word]) + " " + std::string(word));
  }
  return text + "\n" + count_of(checks.size(), "check") + ": " + join(told) + "\n";
}

nlohmann::ordered_json to_json(const Checks& checks) {
  const std::vector<Finding> findings = findings_of(checks);
  nlohmann::ordered_json json{{"good", is_good(findings)},
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
