// SPDX-License-Identifier: Apache-2.0
#include "check/check_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

struct StateWords {
  CheckState state;
  const char* word;      // in text
  const char* severity;  // in JSON
  const char* count;     // the key in JSON
};

// In the order of the last line: the most serious state comes first.
constexpr StateWords kStates[] = {
    {CheckState::Failed, "failed", "error", "errors"},
    {CheckState::Warning, "warning", "warning", "warnings"},
    {CheckState::NotSeen, "not seen", "notSeen", "notSeen"},
    {CheckState::Note, "info", "info", "infos"},
    {CheckState::Good, "ok", "ok", "ok"},
};

constexpr std::size_t kGap = 2, kStateWidth = std::string_view("not seen").size() + kGap;

const StateWords& words_of(CheckState state) {
  return *std::find_if(std::begin(kStates), std::end(kStates),
                       [state](const StateWords& words) { return words.state == state; });
}

std::ptrdiff_t count_of_state(const CheckLines& lines, CheckState state) {
  return std::count_if(lines.begin(), lines.end(),
                       [state](const CheckLine& line) { return line.state == state; });
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

bool is_good(const CheckLines& lines) {
  return std::all_of(lines.begin(), lines.end(), [](const CheckLine& line) {
    return line.state == CheckState::Good || line.state == CheckState::Note;
  });
}

std::string render_text(const CheckLines& lines) {
  std::size_t width = 0;
  for (const CheckLine& line : lines) width = std::max(width, line.check.size());
  std::string text;
  for (const CheckLine& line : lines) {
    text += indented(padded(words_of(line.state).word, kStateWidth) + padded(line.check, width + kGap),
                     line.evidence);
    if (line.remedy.empty()) continue;
    text += line.is_command ? "  Do: " + printable(line.remedy) + "\n" : indented("  Do: ", line.remedy);
  }
  std::vector<std::string> counts;
  for (const StateWords& words : kStates) {
    if (const auto count = count_of_state(lines, words.state); count > 0)
      counts.push_back(std::to_string(count) + " " + words.word);
  }
  return text + "\n" + count_of(lines.size(), "check") + ": " + join(counts) + "\n";
}

nlohmann::ordered_json to_json(const CheckLines& lines) {
  nlohmann::ordered_json json{{"good", is_good(lines)}};
  for (const StateWords& words : kStates) json[words.count] = count_of_state(lines, words.state);
  json["checks"] = nlohmann::ordered_json::array();
  for (const CheckLine& line : lines)
    json["checks"].push_back({{"check", line.check},
                              {"severity", words_of(line.state).severity},
                              {"evidence", line.evidence},
                              {"remedy", text_or_null(line.remedy)}});
  return json;
}

}  // namespace nccl_env::cli
