// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/duration_option.h"

#include <cstdint>
#include <string>

namespace nccl_env::app {
namespace {

constexpr std::int64_t kDay = 24 * 3600, kMax = 36525 * kDay;

std::string read_duration(const std::string& text, std::chrono::seconds& into) {
  std::string problem = "must be a number with s, m, h or d, such as 95s or 3h";
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  const std::int64_t factor = unit.empty() || unit == "s" ? 1
                              : unit == "m"               ? 60
                              : unit == "h"               ? 3600
                              : unit == "d"               ? kDay
                                                          : 0;
  if (digits == 0 || digits > 10 || factor == 0) return problem;
  const std::int64_t number = std::stoll(text.substr(0, digits));
  if (number > kMax / factor) return "must be at most a hundred years";
  into = std::chrono::seconds(number * factor);
  return {};
}

}  // namespace

CLI::Validator duration(std::chrono::seconds& into) {
  return {[&into](std::string& text) { return read_duration(text, into); }, "DURATION"};
}

}  // namespace nccl_env::app
