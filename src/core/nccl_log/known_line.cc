// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/known_line.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace nccl_env {
namespace {

bool has_words(std::string_view line, std::string_view words) {
  return line.find(words) != line.npos;
}

constexpr std::pair<std::string_view, LineKind> kLineKinds[] = {
    {"cause", LineKind::Cause},     {"failure", LineKind::Failure}, {"echo", LineKind::Echo},
    {"refines", LineKind::Refines}, {"hint", LineKind::Hint},       {"harmless", LineKind::Harmless}};
constexpr std::pair<std::string_view, std::string_view KnownLine::*> kRowFields[] = {
    {"words", &KnownLine::words},     {"also", &KnownLine::also},     {"without", &KnownLine::without},
    {"meaning", &KnownLine::meaning}, {"remedy", &KnownLine::remedy}, {"source", &KnownLine::source},
    {"line", &KnownLine::example}};

template <class Pairs>
auto find_named(const Pairs& pairs, std::string_view name) {
  return std::ranges::find_if(pairs, [&](const auto& each) { return each.first == name; });
}

// Takes the text up to the first `end` off it.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view first = text.substr(0, text.find(end));
  text.remove_prefix(std::min(first.size() + 1, text.size()));
  return first;
}

// "failure NoRoute", "harmless".
std::optional<KnownLine> begin_row(std::string_view line) {
  const auto kind = find_named(kLineKinds, take_until(line, ' '));
  if (kind == std::end(kLineKinds)) return std::nullopt;
  KnownLine row;
  row.kind = kind->second;
  if (row.kind == LineKind::Harmless) return row;
  const std::optional<Code> code = parse_code(line);
  if (!code) return std::nullopt;
  row.code = *code;
  return row;
}

// "words slurmstepd: error"; quotes keep blanks at either end: `also "-> "`.
bool read_field(std::string_view line, KnownLine& row) {
  const auto field = find_named(kRowFields, take_until(line, ' '));
  if (field == std::end(kRowFields) || line.empty()) return false;
  if (line.size() > 2 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, line.size() - 2);
  row.*(field->second) = line;
  return true;
}

}  // namespace

bool KnownLine::fits(std::string_view line) const {
  return has_words(line, words) && (also.empty() || has_words(line, also)) &&
         (without.empty() || !has_words(line, without));
}

std::vector<KnownLine> parse_known_lines(std::string_view text) {
  std::vector<KnownLine> rows;
  std::optional<KnownLine> row;
  const auto end_row = [&] {
    if (row && !row->words.empty()) rows.push_back(*row);
    row.reset();
  };
  bool begins = true;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.starts_with('#')) continue;
    if (line.empty()) {
      end_row();
    } else if (begins) {
      row = begin_row(line);
    } else if (row && !read_field(line, *row)) {
      row.reset();
    }
    begins = line.empty();
  }
  end_row();
  return rows;
}

}  // namespace nccl_env
