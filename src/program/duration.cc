// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/duration.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace nccl_env::program {
namespace {

constexpr std::int64_t kDay = 24 * 3600, kMax = 36525 * kDay;

// 0: not a unit.
std::int64_t seconds_of(std::string_view unit) {
  return unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? kDay : 0;
}

}  // namespace

Result<std::chrono::seconds> parse_duration(const std::string& text) {
  if (text == "0") return std::chrono::seconds(0);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::int64_t factor = seconds_of(std::string_view(text).substr(digits));
  if (digits == 0 || digits > 10 || factor == 0)
    return Error{"must be a number with s, m, h or d, such as 95s or 3h"};
  const std::int64_t number = std::stoll(text.substr(0, digits));
  if (number > kMax / factor) return Error{"must be at most a hundred years"};
  return std::chrono::seconds(number * factor);
}

CLI::Validator duration(std::chrono::seconds& into) {
  const auto read = [&into](std::string& text) {
    const auto parsed = parse_duration(text);
    if (!parsed) return parsed.error().message;
    into = *parsed;
    return std::string();
  };
  return {read, "DURATION"};
}

}  // namespace nccl_env::program
