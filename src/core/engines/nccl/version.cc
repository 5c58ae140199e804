// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/version.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

// At most three digits: no release has more, and no sum overflows.
bool take_number(std::string_view& text, int& number) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto length = static_cast<std::size_t>(end - text.begin());
  if (length == 0 || length > 3) return false;
  std::from_chars(text.data(), text.data() + length, number);
  text.remove_prefix(length);
  return true;
}

// "-1" of a tag, "+cuda12.4" of the log, or nothing.
bool is_suffix(std::string_view text) {
  if (take(text, '-')) {
    int revision = 0;
    return take_number(text, revision) && text.empty();
  }
  if (take(text, '+')) {
    constexpr std::string_view kCuda = "cuda";
    return text.substr(0, kCuda.size()) == kCuda && text.size() > kCuda.size() &&
           std::all_of(text.begin() + kCuda.size(), text.end(),
                       [](char c) { return is_digit(c) || c == '.'; });
  }
  return text.empty();
}

}  // namespace

Result<NcclVersion> parse_nccl_version(std::string_view text) {
  std::string_view rest = text;
  take(rest, 'v');
  NcclVersion version;
  const bool numbers = take_number(rest, version.major) && take(rest, '.') &&
                       take_number(rest, version.minor) &&
                       (!take(rest, '.') || take_number(rest, version.patch));
  if (!numbers || !is_suffix(rest))
    return Error{"NCCL version " + in_quotes(text) + " is not of the form 2.21.5."};
  if (version < kOldestNccl || version.major > kNewestNccl.major) {
    return Error{"The rules of NCCL " + format_nccl_version(version) + " are not known, only those of " +
                 known_versions() + " and what follows them."};
  }
  return version;
}

std::string known_versions() {
  return std::to_string(kOldestNccl.major) + "." + std::to_string(kOldestNccl.minor) + " to " +
         newest_version();
}

std::string newest_version() {
  return std::to_string(kNewestNccl.major) + "." + std::to_string(kNewestNccl.minor);
}

bool is_newer_than_known(const NcclVersion& version) {
  return std::pair(version.major, version.minor) > std::pair(kNewestNccl.major, kNewestNccl.minor);
}

std::string format_nccl_version(const NcclVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

}  // namespace nccl_env
