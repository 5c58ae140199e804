// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/conf.h"

#include <algorithm>

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

}  // namespace

Result<std::string> render_conf(const std::map<std::string, std::string, std::less<>>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!is_name(name)) return Error{in_quotes(name) + " is not a name for a line of nccl.conf"};
    if (!is_value(value)) return Error{name + ": its value cannot stand in nccl.conf"};
    text.append(name).append("=").append(value).append("\n");
  }
  return text;
}

std::string render_env_file(const std::map<std::string, std::string, std::less<>>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (value.empty() || !is_name(name) || !is_value(value) || value.find('\'') != value.npos) continue;
    text.append(name).append("='").append(value).append("'\n");
  }
  return text;
}

}  // namespace nccl_env
