// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/limits.h"

namespace nccl_env {
namespace {

// A review's own part is 1 to 2 KiB; a user's groups and extra fields can make it some more.
constexpr std::size_t kMaxRest = 256u << 10;

constexpr std::size_t kEnd = std::string_view::npos;

// Returns the place behind the string that begins at the quote `at`; kEnd if it does not end.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return kEnd;
}

// Returns the place behind the value that begins at `at`: where the member that it belongs to ends.
std::size_t behind_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (depth == 0) return kEnd;
      --depth;
    }
    ++at;
  }
  return kEnd;
}

bool is_object_key(std::string_view key) {
  return key == "\"object\"" || key == "\"oldObject\"" || key == "\"options\"";
}

}  // namespace

std::string excess_of(Part part) {
  return "It has more than " + std::string(kLimits[static_cast<std::size_t>(part)].name) + ".";
}

std::string without_objects(std::string_view text) {
  std::string rest;
  std::string_view key;  // the last string, with its quotes
  bool in_request = false;
  std::size_t depth = 0;
  std::size_t copied = 0;  // up to here the text is in `rest`, or left out
  const auto copy_to = [&](std::size_t end) {
    if (rest.size() + (end - copied) > kMaxRest) return false;
    rest.append(text.substr(copied, end - copied));
    copied = end;
    return true;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = behind_string(text, at);
      if (end == kEnd) return {};
      key = text.substr(at, end - at);
      at = end;
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') depth -= depth > 0 ? 1 : 0;
    if (depth == 1 && c == ',') in_request = false;
    if (c != ':') continue;
    if (depth == 1) in_request = key == "\"request\"";
    if (depth != 2 || !in_request || !is_object_key(key)) continue;
    if (!copy_to(at)) return {};
    at = copied = behind_value(text, at);
    if (at == kEnd) return {};
    rest += "null";
  }
  return copy_to(text.size()) ? rest : std::string();
}

}  // namespace nccl_env
