// SPDX-License-Identifier: Apache-2.0
#include "line.h"

#include <algorithm>

#include "values.h"

namespace nccl_env::listing {
namespace {

// Web pages indent with no-break spaces.
std::string with_plain_blanks(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool no_break = text.substr(i, 2) == "\xc2\xa0";
    result += no_break || text[i] == '\t' ? ' ' : text[i];
    i += no_break ? 1 : 0;
  }
  return result;
}

// Eight groups of four hex digits, as sysfs prints a GID, anywhere in the text.
bool holds_full_gid(std::string_view text) {
  constexpr std::size_t kLength = 39;
  for (std::size_t start = 0; start + kLength <= text.size(); ++start) {
    std::size_t at = 0;
    while (at < kLength && (at % 5 == 4 ? text[start + at] == ':' : is_hex_digit(text[start + at]))) ++at;
    if (at == kLength) return true;
  }
  return false;
}

bool is_version_or_gid_part(std::string_view word) {
  if (word == "v1" || word == "v2") return true;
  return std::ranges::count(word, ':') >= 2 &&
         std::ranges::all_of(word, [](char c) { return is_hex_digit(c) || c == ':'; });
}

bool is_part_of_block(const Line& line) {
  if (line.text.starts_with("GID[")) return true;
  const auto field = split_key_value(line.text);
  const std::string_view key = field ? field->key : "";
  return key == "hca_id" || key == "phys_port_cnt" || key == "link_layer" ||
         (key == "state" && field->value.starts_with("PORT_"));
}

}  // namespace

Line::Line(int where, std::string_view content) : number(where) {
  text = std::string(trim(with_plain_blanks(content)));
  const std::string_view view = text;
  for (std::size_t start = view.find_first_not_of(' '); start != view.npos;
       start = view.find_first_not_of(' ', start)) {
    const auto end = std::min(view.find(' ', start), view.size());
    words.push_back(view.substr(start, end - start));
    start = end;
  }
}

std::string_view Line::word(std::size_t index) const {
  return index < words.size() ? words[index] : std::string_view();
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<KeyValue> split_key_value(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  return KeyValue{trim(text.substr(0, colon)), trim(text.substr(colon + 1))};
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string result(text.substr(0, longest));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > longest ? result + "..." : result;
}

std::string quote(std::string_view text) {
  return "\"" + printable(text, 60) + "\"";
}

std::string expected(const std::string& what, std::string_view text) {
  return "expected " + what + ", not " + quote(text);
}

bool is_numbered_device(std::string_view word) {
  return is_hca_name(word) && !is_digit(word.front()) && std::ranges::any_of(word, is_digit);
}

bool is_port_column(std::string_view word) {
  if (!word.empty() && (word.back() == ',' || word.back() == ';' || word.back() == ':'))
    word.remove_suffix(1);
  return read_port_number(word).has_value();
}

bool looks_like_listing(const Line& line) {
  if (line.words.empty()) return false;
  if (holds_full_gid(line.text) || is_part_of_block(line)) return true;
  if (line.word(0) == "link") {
    const auto slash = line.word(1).rfind('/');
    return slash != std::string_view::npos && is_port_column(line.word(1).substr(slash + 1));
  }
  if (!is_numbered_device(line.word(0))) return false;
  return is_port_column(line.word(1)) &&
         std::any_of(line.words.begin() + 2, line.words.end(), is_version_or_gid_part);
}

}  // namespace nccl_env::listing
