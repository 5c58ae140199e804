// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/print.h"

#include <nlohmann/json.hpp>
#include <tuple>

#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Place = std::vector<Finding>::const_iterator;

// Indent, gaps and 34 characters; less is a column of single words.
constexpr std::size_t kLeastSentence = 40;

// True if the two, of one code, differ in nothing but the parts of their subject.
bool is_same(const Finding& left, const Finding& right) {
  const auto rest = [](const Finding& of) {
    return std::tie(of.subject.kind, of.subject.name_space, of.subject.name, of.subject.path, of.sentence);
  };
  return rest(left) == rest(right);
}

// Findings of one code and severity, which stand together.
std::string section(Place begin, Place end) {
  const Named& words = words_of(begin->code);
  std::string text = "\n" + paragraph(std::string(to_string(begin->severity)) + " " +
                                          std::string(words.name) + ": " + std::string(words.meaning),
                                      0);
  TextColumns columns(2);
  std::string stacked;
  std::size_t longest_where = 0, longest_parts = 0;
  for (auto finding = begin; finding != end;) {
    const Finding& first = *finding;
    std::vector<std::string> all;  // with the same sentence
    for (; finding != end && is_same(*finding, first); ++finding)
      all.insert(all.end(), finding->subject.parts.begin(), finding->subject.parts.end());
    std::string where = first.subject.name.empty() ? "-" : first.subject.name;
    const std::string parts = all.empty() ? "-" : short_hca_list(all);
    longest_where = std::max(longest_where, where.size());
    longest_parts = std::max(longest_parts, parts.size());
    stacked += paragraph(where + "  " + parts, 2) + paragraph(first.sentence, 6);
    columns.add({std::move(where), parts, first.sentence});
  }
  const bool room = longest_where + longest_parts + kLeastSentence <= kTextWidth;
  return text + (room ? columns.render() : stacked) + paragraph("Do: " + std::string(remedy_of(*begin)), 2);
}

}  // namespace

OrderedJson to_json(const Finding& finding) {
  const Subject& subject = finding.subject;
  const Named& words = words_of(finding.code);
  return {{"code", words.name},
          {"severity", to_string(finding.severity)},
          {"subject",
           {{"kind", text_or_null(subject.kind)},
            {"namespace", text_or_null(subject.name_space)},
            {"name", text_or_null(subject.name)},
            {"path", text_or_null(subject.path)},
            {"file", text_or_null(subject.file)},
            {"parts", subject.parts}}},
          {"sentence", finding.sentence},
          {"remedy", text_or_null(remedy_of(finding))},
          {"impact", to_string(words.impact)},
          {"document", words.document}};
}

OrderedJson to_json(const std::vector<Finding>& findings) {
  OrderedJson list = OrderedJson::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  return list;
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
