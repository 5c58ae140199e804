// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/line_finder.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <iterator>
#include <string>

#include "nccl_log/known_lines/text.h"

namespace nccl_env {
namespace {

constexpr std::size_t kLongestFitted = 4096;  // of a line: NCCL's own have 1023 bytes

// Three characters in a row as a number below the set's size. Most rows fail by their first three alone,
// which one pass over the line tells of all rows.
using Triples = std::bitset<8192>;
std::size_t triple_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  return (byte(0) * 961u + byte(1) * 31u + byte(2)) % Triples{}.size();
}

// The text with one blank for each run of them, as a pasted line has lost them; "" where it has none.
std::string with_single_blanks(std::string_view text) {
  constexpr std::string_view kTwo = "  ";
  if (text.find(kTwo) == text.npos) return {};
  std::string out;
  out.reserve(text.size());
  std::ranges::unique_copy(text, std::back_inserter(out),
                           [](char left, char right) { return left == ' ' && right == ' '; });
  return out;
}

struct FindingRow {
  const KnownLine* line;
  std::size_t first;  // three characters of its words
};

std::vector<FindingRow> finding_rows() {
  std::vector<FindingRow> all;
  all.reserve(known_lines().size());
  for (const KnownLine& each : known_lines()) {
    if (each.kind != LineKind::Refines && each.kind != LineKind::Hint && each.words.size() >= 3)
      all.push_back({&each, triple_at(each.words, 0)});
  }
  return all;
}

std::vector<KnownLine> rows_by_words() {
  std::vector<KnownLine> rows = parse_known_lines(kKnownLines);
  std::ranges::stable_sort(rows, [](const KnownLine& left, const KnownLine& right) {
    return left.words.size() + left.also.size() > right.words.size() + right.also.size();
  });
  return rows;
}

}  // namespace

const std::vector<KnownLine>& known_lines() {
  static const std::vector<KnownLine> rows = rows_by_words();
  return rows;
}

const KnownLine* find_known_line(std::string_view line) {
  static const std::vector<FindingRow> rows = finding_rows();
  line = line.substr(0, kLongestFitted);
  const std::string squeezed = with_single_blanks(line);
  if (!squeezed.empty()) line = squeezed;
  Triples there;
  for (std::size_t at = 0; at + 3 <= line.size(); ++at) there.set(triple_at(line, at));
  const auto row = std::ranges::find_if(
      rows, [&](const FindingRow& each) { return there.test(each.first) && each.line->fits(line); });
  return row == rows.end() ? nullptr : row->line;
}

const KnownLine* find_hint(std::string_view line) {
  line = line.substr(0, kLongestFitted);
  // Without their first letters, which may be capital.
  constexpr std::string_view kErrors[] = {"rror",   "ailed",          "ERROR",    "FATAL",
                                          "atal",   "annot ",         "ould not", "ouldn't",
                                          "Unable", "left on device", "xception"};
  constexpr std::string_view kGoesOn[] = {"retry",   "Retry",   "WARN",        "[W",
                                          "warning", "Warning", "trying again"};
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  if (std::ranges::none_of(kErrors, has) || std::ranges::any_of(kGoesOn, has)) return nullptr;
  const auto row = std::ranges::find_if(
      known_lines(), [&](const KnownLine& each) { return each.kind == LineKind::Hint && each.fits(line); });
  return row == known_lines().end() ? nullptr : &*row;
}

const KnownLine* refine_line(Code code, std::string_view text) {
  const auto row = std::ranges::find_if(known_lines(), [&](const KnownLine& each) {
    return each.kind == LineKind::Refines && each.code == code && each.fits(text);
  });
  return row == known_lines().end() ? nullptr : &*row;
}

}  // namespace nccl_env
