// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/finding.h"

#include <tuple>

#include "nccl_env/core/fabric/hca_name.h"

namespace nccl_env {

std::string_view remedy_of(const Finding& finding) {
  return finding.remedy.empty() ? words_of(finding.code).remedy : finding.remedy;
}

std::size_t count(const std::vector<Finding>& findings, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

bool is_good(const std::vector<Finding>& findings) {
  return count(findings, Severity::Info) == findings.size();
}

void erase_marked(const std::vector<bool>& marks, std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!marks[i]) kept.push_back(std::move(findings[i]));
  }
  findings = std::move(kept);
}

bool more_urgent(const Finding& left, const Finding& right) {
  const auto urgency = [](const Finding& finding) {
    return std::tie(finding.severity, finding.slight, finding.code, finding.subject.kind,
                    finding.subject.name_space);
  };
  if (urgency(left) != urgency(right)) return urgency(left) < urgency(right);
  if (left.subject.name != right.subject.name) return hca_name_less(left.subject.name, right.subject.name);
  if (left.subject.parts != right.subject.parts) {
    return std::lexicographical_compare(left.subject.parts.begin(), left.subject.parts.end(),
                                        right.subject.parts.begin(), right.subject.parts.end(),
                                        hca_name_less);
  }
  return std::tie(left.subject.path, left.sentence) < std::tie(right.subject.path, right.sentence);
}

void Findings::add(Severity severity, std::string path, std::string sentence) {
  if (is_full()) return;
  if (all_.size() == kMost) {
    severity = Severity::Error;
    path.clear();
    sentence = "more findings are not shown";
  }
  has_errors_ = has_errors_ || severity == Severity::Error;
  all_.push_back({code_, severity, {.path = std::move(path)}, std::move(sentence)});
}

std::vector<Finding> Findings::take(const Subject& of) {
  for (Finding& finding : all_) {
    finding.subject.kind = of.kind;
    finding.subject.name = of.name;
  }
  return std::move(all_);
}

}  // namespace nccl_env
