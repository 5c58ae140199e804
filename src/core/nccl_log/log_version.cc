// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_version.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// "2.21.5" of "2.21.5, and", "2.21.5+cuda12.4", "2.22.3-HEAD:6bfc0dd": what the text begins with.
std::string_view version_at(std::string_view text) {
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
bool is_told_alone(std::string_view before, std::string_view behind) {
  before = trimmed_text(before);
  behind = trimmed_text(behind);
  const bool ends = behind.empty() || begins_with_any(behind, {"[repeated ", "compiled with "});
  return ends && (before.empty() || is_digit(before.back()) || before.ends_with("INFO") ||
                  std::string_view(":>|])Z").find(before.back()) != std::string_view::npos);
}

}  // namespace

std::string version_in(std::string_view line) {
  for (const std::string_view mark : {std::string_view("NCCL version "), std::string_view("RCCL version : "),
                                      std::string_view("RCCL version ")}) {
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    const std::string_view rest = line.substr(at + mark.size());
    const std::string_view version = version_at(rest);
    const bool amd = mark.front() == 'R';
    if (!version.starts_with("2.")) continue;
    if (!amd && line.find("NCCL error") == line.npos &&
        !is_told_alone(line.substr(0, at), rest.substr(version.size())))
      continue;
    return (amd ? "RCCL " : "") + std::string(version);
  }
  return {};
}

}  // namespace nccl_env
