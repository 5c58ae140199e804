// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/version.h"

#include <algorithm>
#include <array>
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

// True for "2.19.3-1" and 2.21, for "24.03-py3" and 24.4; false for what does not begin with two numbers.
bool is_before(std::string_view text, std::pair<int, int> first) {
  std::pair numbers(0, 0);
  return take_number(text, numbers.first) && take(text, '.') && take_number(text, numbers.second) &&
         numbers < first;
}

constexpr std::pair kSearch(nccl_since::kDynamicGid.major, nccl_since::kDynamicGid.minor);

}  // namespace

bool is_before_search(std::string_view version) {
  return is_before(version, kSearch);
}

bool has_old_nccl(std::string_view image) {
  constexpr std::string_view kNvidia = "nvcr.io/nvidia/", kNccl = "nccl";
  constexpr std::array<std::string_view, 5> kFrameworks{"pytorch", "tensorflow", "jax", "nemo", "mxnet"};
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.find(':', image.rfind('/') + 1);
  if (colon == image.npos) return false;
  const std::string_view tag = image.substr(colon + 1), name = image.substr(0, colon);
  if (const std::size_t at = tag.find(kNccl); at != tag.npos)
    return is_before(tag.substr(at + kNccl.size()), kSearch);
  return name.starts_with(kNvidia) && is_before(tag, {24, 4}) &&
         std::find(kFrameworks.begin(), kFrameworks.end(), name.substr(kNvidia.size())) != kFrameworks.end();
}

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
