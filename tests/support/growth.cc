// SPDX-License-Identifier: Apache-2.0
#include "support/growth.h"

#include <algorithm>
#include <stdexcept>

namespace nccl_env::tests {
namespace {

using Json = nlohmann::json;
using Kind = Growth::Kind;

// Holds the place of what grows while the rest is written.
constexpr const char* kPlace = "@place@";

std::string with_token(const std::string& pointer, const std::string& key) {
  std::string escaped;
  for (const char c : key) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return pointer + "/" + escaped;
}

void add_growths(const Json& value, const std::string& pointer, std::vector<Growth>& into) {
  into.push_back({Kind::Nest, pointer});
  if (value.is_string()) into.push_back({Kind::LengthenText, pointer});
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string item = pointer + "/" + std::to_string(i);
      into.push_back({Kind::RepeatItem, item});
      add_growths(value[i], item, into);
    }
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      const std::string member = with_token(pointer, key);
      into.push_back({Kind::RepeatMember, member});
      into.push_back({Kind::LengthenKey, member});
      add_growths(child, member, into);
    }
  }
}

std::string repeated(const std::string& text, std::size_t bytes) {
  const std::string piece = text.empty() ? "x" : text;
  std::string out;
  out.reserve(bytes + piece.size());
  do out += piece;
  while (out.size() < bytes);
  return out;
}

// `bytes` of what replaces the part, whose parent `parent` is.
std::string grown_part(const Growth& growth, const Json& part, const std::string& key, std::size_t bytes) {
  const std::string text = part.dump();
  std::string out;
  switch (growth.kind) {
    case Kind::RepeatItem:
      return repeated(text + ",", bytes) + text;
    case Kind::RepeatMember:
      out = Json(key).dump() + ":" + text;
      for (std::size_t i = 1; out.size() < bytes; ++i)
        out += "," + Json(key + std::to_string(i)).dump() + ":" + text;
      return out;
    case Kind::Nest: {
      const std::size_t depth = (std::max(bytes, text.size()) - text.size()) / 2 + 1;
      return std::string(depth, '[') + text + std::string(depth, ']');
    }
    case Kind::LengthenText:
      return Json(repeated(part.get<std::string>(), bytes)).dump();
    case Kind::LengthenKey:
      return Json(repeated(key, bytes)).dump() + ":" + text;
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.emplace_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

struct Word {
  std::size_t begin;
  std::size_t size;
};
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  constexpr std::string_view kBlanks = " \t";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back({at, end - at});
    at = end;
  }
  return words;
}

}  // namespace

std::string describe(const Growth& growth) {
  constexpr const char* kNames[] = {"RepeatItem", "RepeatMember", "Nest", "LengthenText", "LengthenKey"};
  return std::string(kNames[static_cast<std::size_t>(growth.kind)]) + " " + growth.pointer;
}

std::vector<Growth> growths_of(const Json& document) {
  std::vector<Growth> growths;
  add_growths(document, "", growths);
  return growths;
}

std::string grown(const Json& document, const Growth& growth, std::size_t bytes) {
  Json changed = document;
  const Json::json_pointer place(growth.pointer);
  const Json part = document.at(place);
  std::string placeholder = Json(kPlace).dump();
  std::string key;
  if (growth.kind == Kind::RepeatMember || growth.kind == Kind::LengthenKey) {
    key = place.back();
    Json& parent = changed.at(place.parent_pointer());
    parent.erase(key);
    parent[kPlace] = nullptr;
    placeholder += ":null";
  } else {
    changed.at(place) = kPlace;
  }
  std::string text = changed.dump();
  const std::size_t at = text.find(placeholder);
  if (at == std::string::npos) throw std::logic_error("no place in the text: " + describe(growth));
  const std::size_t rest = text.size() - placeholder.size();
  text.replace(at, placeholder.size(), grown_part(growth, part, key, bytes > rest ? bytes - rest : 0));
  return text;
}

std::vector<std::string> slow_scalars() {
  const std::string zeros(30, '0');
  return {
      "0",
      "-9223372036854775808",
      "0.30000000000000004",
      "1e5",
      "12791764027086161391e287",              // beyond the digits that a double holds
      "0." + zeros + "12791764027086161391",   // the same without an exponent
      "12791764027086161391e-340",             // below the least double
      "0." + std::string(800, '7') + "e-300",  // all of 768 digits count
      "12791764027086161391" + zeros + ".5",
      R"("\n\u0000\\\"")",
      R"("\ud83d\ude00\ud83d\ude00")",
      R"("\ud83d")",  // a half of a character
      R"({"\ud83d\ude00":{}})",
  };
}

std::string crowded(const Json& document, const std::string& pointer, const std::string& scalar,
                    std::size_t bytes) {
  Json changed = document;
  changed[Json::json_pointer(pointer)] = kPlace;
  std::string text = changed.dump();
  const std::string placeholder = Json(kPlace).dump();
  text.replace(text.find(placeholder), placeholder.size(),
               "[" + repeated(scalar + ",", bytes) + scalar + "]");
  return text;
}

std::vector<LineGrowth> line_growths_of(std::string_view text) {
  std::vector<LineGrowth> growths;
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    growths.push_back({LineGrowth::Kind::RepeatLine, line, 0});
    for (std::size_t word = 0; word < words_of(lines[line]).size(); ++word) {
      growths.push_back({LineGrowth::Kind::RepeatWord, line, word});
      growths.push_back({LineGrowth::Kind::LengthenWord, line, word});
    }
  }
  return growths;
}

std::string grown_lines(std::string_view text, const LineGrowth& growth, std::size_t bytes) {
  std::vector<std::string> lines = lines_of(text);
  std::string& line = lines.at(growth.line);
  const std::size_t more = bytes > text.size() ? bytes - text.size() : 0;
  if (growth.kind == LineGrowth::Kind::RepeatLine) {
    line = repeated(line + "\n", more) + line;
  } else {
    const Word word = words_of(line).at(growth.word);
    const std::string old = line.substr(word.begin, word.size);
    const bool repeats = growth.kind == LineGrowth::Kind::RepeatWord;
    line.replace(word.begin, word.size, repeats ? repeated(old + " ", more) + old : repeated(old, more));
  }
  std::string out;
  for (const std::string& each : lines) out += each + "\n";
  return out;
}

}  // namespace nccl_env::tests
