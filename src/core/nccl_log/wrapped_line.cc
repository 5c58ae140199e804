// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/wrapped_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;
using Json = nlohmann::json;

// "{"log":"…\n","stream":"stdout","time":"…"}"; false where the line is not such an object.
bool unwrap_json(PlainLine& line) {
  const string_view text = trimmed_text(line.text);
  if (!text.starts_with('{') || !text.ends_with('}') || text.find("\"log\"") == text.npos) return false;
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return false;
  const auto inner = object.find("log"), time = object.find("time");
  if (inner == object.end() || !inner->is_string()) return false;
  if (time != object.end() && time->is_string()) line.stamp = time->get<std::string>();
  line.text = inner->get<std::string>();
  return true;
}

// The text without a terminal's commands: "ESC[31m", "ESC]0;titleBEL".
void drop_escapes(std::string& text) {
  constexpr char kEscape = '\x1b', kBell = '\a';
  if (text.find(kEscape) == text.npos) return;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      out += text[i];
      continue;
    }
    const char kind = ++i < text.size() ? text[i] : '\0';
    if (kind == '[') {
      while (++i < text.size() && (text[i] < '@' || text[i] > '~')) continue;
    } else if (kind == ']') {
      while (i < text.size() && text[i] != kBell && text[i] != '\\') ++i;
    }
  }
  text = std::move(out);
}

// Takes "2026-11-27T10:00:00.123456789Z " off the text; its size, 0 where none begins it.
std::size_t size_of_time(string_view text) {
  constexpr string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !is_digit(text[i]) : text[i] != kForm[i]) return 0;
  }
  const std::size_t blank = text.find(' ');
  constexpr std::size_t kLongestTime = 40;
  return blank == text.npos || blank > kLongestTime ? 0 : blank + 1;
}

// srun --label's "12: "; "worker-1  | " of Compose; "[pod/worker-1/main] " of kubectl logs --prefix.
std::size_t size_of_label(string_view text) {
  if (text.starts_with("[pod/")) {
    const std::size_t close = text.find("] ");
    return close == text.npos ? 0 : close + 2;
  }
  const std::size_t end = text.find_first_of(" :");
  if (end == text.npos || end == 0) return 0;
  if (text[end] == ':')
    return is_digits(text.substr(0, end)) && text.substr(end).starts_with(": ") ? end + 2 : 0;
  const std::size_t bar = text.find_first_not_of(' ', end);
  return bar != text.npos && text.substr(bar).starts_with("| ") ? bar + 2 : 0;
}

// The size of the prefix: a time with the stream's mark behind it, as containerd writes both ("stderr F ").
std::size_t size_of_prefix(string_view text) {
  std::size_t size = size_of_time(text);
  if (size == 0) return size_of_label(text);
  if (begins_with_any(text.substr(size), {"stdout F ", "stderr F ", "stdout P ", "stderr P "})) size += 9;
  return size;
}

}  // namespace

PlainLine plain_line(std::string_view line) {
  constexpr int kNested = 3;  // a collector's prefix around a runtime's around a launcher's
  PlainLine plain{std::string(line), {}};
  drop_escapes(plain.text);
  for (int i = 0; i < kNested; ++i) {
    const std::size_t begin = std::min(plain.text.find_first_not_of(' '), plain.text.size());
    if (const std::size_t size = size_of_prefix(string_view(plain.text).substr(begin)); size > 0) {
      if (plain.stamp.empty()) plain.stamp = plain.text.substr(0, begin + size);
      plain.text.erase(0, begin + size);
    } else if (unwrap_json(plain)) {
      drop_escapes(plain.text);
    } else {
      break;
    }
  }
  return plain;
}

}  // namespace nccl_env
