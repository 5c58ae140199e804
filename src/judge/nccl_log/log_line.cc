// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/nccl_log/log_text.h"

namespace nccl_env {
namespace {

using std::string_view;

using Json = nlohmann::json;

// "{"log":"…\n","stream":"stdout","time":"…"}"; false where the line is not such an object.
bool unwrap_json(PlainLine& line) {
  const string_view text = trimmed_text(line.text);
  if (!text.starts_with('{') || !text.ends_with('}') || text.find("\"log\"") == text.npos) return false;
  const Json object = Json::parse(text, nullptr, false);
  if (!member(object, "log").is_string()) return false;
  if (member(object, "time").is_string()) line.stamp = text_at(object, "time");
  line.text = text_at(object, "log");
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

// True if the text begins with the form: a digit for each '0', else the same characters.
bool begins_in_form(string_view text, string_view form) {
  const auto fits = [](char c, char of_form) { return of_form == '0' ? is_digit(c) : c == of_form; };
  return std::ranges::equal(text.substr(0, form.size()), form, fits);
}

// The size of "2026-11-27T10:00:00.123456789Z "; 0 where none begins the text.
std::size_t size_of_time(string_view text) {
  constexpr std::size_t kLongestTime = 40;
  const std::size_t blank = text.find(' ');
  return begins_in_form(text, "0000-00-00T00:00:00") && blank <= kLongestTime ? blank + 1 : 0;
}

// srun --label's "12: "; "worker-1  | " of Compose; "[pod/worker-1/main] " of kubectl logs --prefix.
std::size_t size_of_label(string_view text) {
  if (text.starts_with("[pod/")) return has(text, "] ") ? text.find("] ") + 2 : 0;
  const string_view label = text.substr(0, text.find_first_of(" :")), rest = text.substr(label.size());
  if (label.empty()) return 0;
  if (rest.starts_with(": ")) return is_digits(label) ? label.size() + 2 : 0;
  const std::size_t bar = text.find_first_not_of(' ', label.size());
  return rest.starts_with(' ') && bar != text.npos && text.substr(bar).starts_with("| ") ? bar + 2 : 0;
}

// The size of the prefix: a time with the stream's mark behind it, as containerd writes both ("stderr F ").
std::size_t size_of_prefix(string_view text) {
  std::size_t size = size_of_time(text);
  if (size == 0) return size_of_label(text);
  if (begins_with_any(text.substr(size), {"stdout F ", "stderr F ", "stdout P ", "stderr P "})) size += 9;
  return size;
}

constexpr string_view kMarks[] = {" NCCL INFO ", " NCCL WARN "};

// "gpu-1:984:990" of "[1,0]<stdout>:gpu-1:984:990": a launcher's mark is no part of the host's name. `host`:
// the size of what stands before the process.
string_view without_mark(string_view word, std::size_t host) {
  const auto is_of_name = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  std::size_t begin = host;
  while (begin > 0 && is_of_name(word[begin - 1])) --begin;
  return begin < host ? word.substr(begin) : word;
}

// "2.21.5" of "2.21.5, and", "2.21.5+cuda12.4", "2.22.3-HEAD:6bfc0dd": what the text begins with.
string_view version_at(string_view text) {
  std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  if (end < text.size() && (text[end] == '+' || text[end] == '-')) {
    const auto is_of_build = [](char c) { return is_alphanumeric(c) || c == '.' || c == ':' || c == '_'; };
    do {
      ++end;
    } while (end < text.size() && is_of_build(text[end]));
  }
  return text.substr(0, text.find_last_not_of(".:", end == 0 ? 0 : end - 1) + 1);
}

// True where a library tells its version: alone in its line, behind a launcher's mark or NCCL's own. A
// sentence about versions goes on, or begins before.
bool is_told_alone(string_view before, string_view behind) {
  before = trimmed_text(before);
  behind = trimmed_text(behind);
  const bool ends = behind.empty() || begins_with_any(behind, {"[repeated ", "compiled with "});
  return ends && (before.empty() || is_digit(before.back()) || before.ends_with("INFO") ||
                  string_view(":>|])Z").find(before.back()) != string_view::npos);
}

}  // namespace

PlainLine plain_line(string_view line) {
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

LogMark find_mark(string_view text, std::size_t from) {
  // At the beginning of a line where what stood before it was left out.
  for (const string_view mark : kMarks) {
    if (from == 0 && text.starts_with(mark.substr(1))) return {0, mark == kMarks[1], mark.size() - 1};
  }
  const std::size_t info = text.find(kMarks[0], from);
  const std::size_t warn = text.find(kMarks[1], from);
  const std::size_t at = std::min(info, warn);
  return {at, warn < info, at == text.npos ? 0 : at + kMarks[0].size()};
}

string_view prefix_of(string_view before) {
  // "[0]", "file.cc:12" and "(function" are all the words that stand between.
  for (int words = 0; words < 6 && !before.empty(); ++words) {
    const std::size_t blank = before.find_last_of(" \t");
    const string_view word = blank == before.npos ? before : before.substr(blank + 1);
    const std::size_t last = word.rfind(':');
    const std::size_t middle = last == word.npos || last == 0 ? word.npos : word.rfind(':', last - 1);
    if (middle != word.npos && middle > 0 && is_digits(word.substr(last + 1)) &&
        is_digits(word.substr(middle + 1, last - middle - 1)))
      return without_mark(word, middle);
    if (blank == before.npos) break;
    before = before.substr(0, blank);
  }
  return {};
}

string_view behind_rank(string_view text) {
  if (const std::size_t close = text.find(") "); text.starts_with('(') && close != text.npos) {
    if (text.substr(0, close).find("pid=") != text.npos) text = trimmed_text(text.substr(close + 2));
  }
  for (int marks = 0; marks < 2 && text.starts_with('['); ++marks) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return text;
    string_view rest = text.substr(close + 1);
    if (rest.starts_with('<')) rest = rest.substr(std::min(rest.find('>'), rest.size() - 1) + 1);
    text = trimmed_text(rest.substr(rest.starts_with(':') ? 1 : 0));
  }
  return text;
}

std::size_t end_of_message(string_view text, std::size_t begin) {
  const LogMark next = find_mark(text, begin);
  if (next.at == text.npos) return text.size();
  const string_view prefix = prefix_of(text.substr(begin, next.at - begin));
  return prefix.empty() ? next.at : static_cast<std::size_t>(prefix.data() - text.data());
}

std::string clock_in(string_view text) {
  constexpr string_view kForm = "00:00:00";
  const auto joins = [](char c) { return is_alphanumeric(c) || c == ':'; };
  for (std::size_t at = 0; at + kForm.size() <= text.size(); ++at) {
    if (at > 0 && text[at - 1] != 'T' && joins(text[at - 1])) continue;
    if (!begins_in_form(text.substr(at), kForm)) continue;
    const std::size_t end = at + kForm.size();
    if (end == text.size() || text[end] == 'Z' || !joins(text[end]))
      return std::string(text.substr(at, kForm.size()));
  }
  return {};
}

std::string version_in(string_view line) {
  for (const string_view mark :
       {string_view("NCCL version "), string_view("RCCL version : "), string_view("RCCL version ")}) {
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    const string_view rest = line.substr(at + mark.size());
    const string_view version = version_at(rest);
    const bool amd = mark.front() == 'R';
    if (!version.starts_with("2.")) continue;
    if (!amd && line.find("NCCL error") == line.npos &&
        !is_told_alone(line.substr(0, at), rest.substr(version.size())))
      continue;
    return (amd ? "RCCL " : "") + std::string(version);
  }
  return {};
}

std::optional<NcclVersion> logged_version(string_view text) {
  constexpr string_view kRccl = "RCCL ";
  if (text.starts_with(kRccl)) text.remove_prefix(kRccl.size());
  const auto known = parse_nccl_version(text.substr(0, text.find_first_of("+-")));
  return known ? std::optional(*known) : std::nullopt;
}

}  // namespace nccl_env
