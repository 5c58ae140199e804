// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::listing {
std::optional<int> read_number(std::string_view text, int most) {
  int value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<double> read_decimal(std::string_view text) {
  constexpr double kMost = 100000;
  double value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || value > kMost) return std::nullopt;
  return value;
}

std::optional<int> read_port_number(std::string_view text) {
  const auto number = read_number(text, kMaxPortNumber);
  return number && *number > 0 ? number : std::nullopt;
}

bool is_plain_netdev_name(std::string_view text) {
  return is_netdev_name(text) && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

std::optional<PortState> read_state_name(std::string_view text) {
  if (text == "ACTIVE") return PortState::Active;
  if (text == "ARMED") return PortState::Armed;
  if (text == "INIT") return PortState::Init;
  if (text == "DOWN") return PortState::Down;
  return std::nullopt;
}

int state_number(PortState state) {
  constexpr std::array kStates{PortState::Down, PortState::Init, PortState::Armed, PortState::Active};
  return static_cast<int>(std::find(kStates.begin(), kStates.end(), state) - kStates.begin()) + 1;
}

}  // namespace nccl_env::listing
