// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/print.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Place = std::vector<Finding>::const_iterator;

// Indent, gaps and 34 characters; less is a column of single words.
constexpr std::size_t kLeastSentence = 40;

// More lines of one code would hide the next one.
constexpr std::size_t kMostLines = 24;

// Equal evidence is one line: the same of several objects, or of several parts of one.
struct Line {
  std::string kind;
  std::vector<std::string> names, parts;
  std::string sentence;

  [[nodiscard]] bool takes(const Finding& finding) {
    const Subject& subject = finding.subject;
    if (finding.sentence != sentence || subject.kind != kind) return false;
    const bool named = std::ranges::find(names, subject.name) != names.end();
    if (named && names.size() == 1) {
      parts.insert(parts.end(), subject.parts.begin(), subject.parts.end());
      return true;
    }
    if (named || subject.parts != parts) return false;
    names.push_back(subject.name);
    return true;
  }
  // The printed text of a job names it, and so its findings need not.
  [[nodiscard]] std::string where() const {
    if (kind == "Job") return {};
    return names.front().empty() ? "-" : short_list(names, "[", "]");
  }
};

using Lines = std::vector<Line>;

std::string lines_text(const Lines& lines) {
  TextColumns columns(2);
  std::string stacked;
  std::size_t longest_where = 0, longest_parts = 0;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    const Line& line = lines[i];
    const std::string where = line.where();
    const bool ranks = line.kind == "Job";  // "worker-[0-3]": their names may end in a number as it is
    const std::string parts =
        line.parts.empty() ? "-" : short_list(line.parts, ranks ? "[" : "", ranks ? "]" : "");
    longest_where = std::max(longest_where, where.size());
    longest_parts = std::max(longest_parts, parts.size());
    stacked += paragraph(where + (where.empty() ? "" : "  ") + parts, 2) + paragraph(line.sentence, 6);
    where.empty() ? columns.add({parts, line.sentence}) : columns.add({where, parts, line.sentence});
  }
  const bool room = longest_where + longest_parts + kLeastSentence <= kTextWidth;
  return (room ? columns.render() : stacked) +
         (lines.size() > kMostLines
              ? paragraph("and " + count_of(lines.size() - kMostLines, "further line") + ": -o json has all",
                          2)
              : "");
}

// Findings of one code and severity, which stand together; each remedy once.
std::string section(Place begin, Place end) {
  const Named& words = words_of(begin->code);
  std::string text = "\n" + paragraph(std::string(to_string(begin->severity)) + " " +
                                          std::string(words.name) + ": " + std::string(words.meaning),
                                      0);
  std::vector<std::pair<std::string_view, Lines>> by_remedy;
  for (auto finding = begin; finding != end; ++finding) {
    const std::string_view remedy = remedy_of(*finding);
    auto known = std::ranges::find(by_remedy, remedy, [](const auto& group) { return group.first; });
    if (known == by_remedy.end()) known = by_remedy.insert(known, {remedy, {}});
    Lines& lines = known->second;
    const auto taken = std::ranges::find_if(lines, [&](Line& line) { return line.takes(*finding); });
    const Subject& subject = finding->subject;
    if (taken == lines.end())
      lines.push_back({subject.kind, {subject.name}, subject.parts, finding->sentence});
  }
  for (const auto& [remedy, lines] : by_remedy)
    text += lines_text(lines) + paragraph("Do: " + std::string(remedy), 2);
  return text;
}

}  // namespace

OrderedJson to_json(const Finding& finding) {
  const Subject& subject = finding.subject;
  const Named& words = words_of(finding.code);
  OrderedJson of{{"kind", text_or_null(subject.kind)}, {"namespace", text_or_null(subject.name_space)},
                 {"name", text_or_null(subject.name)}, {"path", text_or_null(subject.path)},
                 {"file", text_or_null(subject.file)}, {"parts", subject.parts}};
  if (subject.line > 0) of["line"] = subject.line;
  return {{"code", words.name},
          {"severity", to_string(finding.severity)},
          {"subject", std::move(of)},
          {"sentence", finding.sentence},
          {"remedy", text_or_null(remedy_of(finding))},
          {"impact", to_string(words.impact)},
          {"document", words.document}};
}

OrderedJson to_json(const std::vector<Finding>& findings) {
  return array_of(findings, [](const Finding& finding) { return to_json(finding); });
}

std::string line_of(const Finding& finding) {
  const Subject& subject = finding.subject;
  const bool line = subject.kind == "File";
  const std::string place =
      line ? subject.name + (subject.path.empty() ? "" : ":" + subject.path) : subject.path;
  return place.empty() ? finding.sentence : place + ": " + finding.sentence;
}

std::string render_sections(const std::vector<Finding>& findings) {
  std::string text;
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto end = std::find_if(begin, findings.end(), [&](const Finding& finding) {
      return finding.code != begin->code || finding.severity != begin->severity;
    });
    text += section(begin, end);
    begin = end;
  }
  return text;
}

}  // namespace nccl_env
