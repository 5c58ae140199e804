// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/conf.h"

#include <algorithm>

#include "nccl_env/core/engines/variable.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxBytes = 1023;

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kMaxBytes && std::all_of(name.begin(), name.end(), fits);
}

// Blanks are legal inside; at the ends a person would not see them.
bool is_value(std::string_view value) {
  return value.size() <= kMaxBytes && !value.starts_with(' ') && !value.ends_with(' ') &&
         std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// A line of more than 1023 bytes overruns a buffer of NCCL up to 2.22, if an '=' stands so far behind.
void append_note(std::string& text, std::string_view name, std::string_view value) {
  do {
    const std::string_view part = value.substr(0, kMaxBytes - 2 - std::min(name.size(), kMaxBytes / 2));
    value.remove_prefix(part.size());
    text.append("#").append(name).append(part.empty() ? "" : " ").append(part).append("\n");
  } while (!value.empty());
}

// "#NAME", "#NAME VALUE", or the next part of that value.
bool take_note(std::string_view line, ConfValues& notes) {
  const std::size_t end = std::min(line.find(' '), line.size());
  if (!line.starts_with('#') || !is_name(line.substr(1, end - 1))) return false;
  notes[std::string(line.substr(1, end - 1))].append(line.substr(std::min(end + 1, line.size())));
  return true;
}

}  // namespace

Result<std::string> render_conf(const ConfValues& values, const ConfValues& notes) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!is_name(name)) return Error{in_quotes(name) + " is not a name for a line of nccl.conf"};
    if (!is_value(value)) return Error{name + ": its value cannot stand in nccl.conf"};
    text.append(name).append("=").append(value).append("\n");
  }
  for (const auto& [name, value] : notes) append_note(text, name, value);
  return text;
}

ConfText read_conf(std::string_view text) {
  ConfText read;
  for (bool more = true; more && !text.empty();) {
    const std::string_view line = cut_entry(text, '\n', more);
    if (line.empty() || take_note(line, read.notes)) continue;
    const std::size_t equals = line.find('=');
    const bool is_line = !line.starts_with('#') && equals != line.npos;
    read.is_ours = read.is_ours && is_line;
    if (is_line) read.values.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return read;
}

std::string render_env_file(const ConfValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (value.empty() || !is_name(name) || !is_value(value) || value.find('\'') != value.npos) continue;
    text.append(name).append("='").append(value).append("'\n");
  }
  return text;
}

}  // namespace nccl_env
