// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::listing {
namespace {

template <class T, class... Form>
std::optional<T> read_whole(std::string_view text, T most, Form... form) {
  T value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, form...);
  return error == std::errc() && rest == end && value <= most ? std::optional(value) : std::nullopt;
}

// By the verbs' numbers, from 1.
constexpr std::array<std::pair<std::string_view, PortState>, 4> kStates{{{"DOWN", PortState::Down},
                                                                         {"INIT", PortState::Init},
                                                                         {"ARMED", PortState::Armed},
                                                                         {"ACTIVE", PortState::Active}}};

}  // namespace

std::optional<int> read_number(std::string_view text, int most) {
  return read_whole(text, most);
}

std::optional<double> read_decimal(std::string_view text) {
  return read_whole(text, 100000.0, std::chars_format::fixed);
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
  for (const auto& [name, state] : kStates) {
    if (text == name) return state;
  }
  return std::nullopt;
}

std::optional<PortState> read_verbs_state(std::string_view text) {
  int number = 0;
  for (const auto& [name, state] : kStates) {
    const std::string word = "PORT_" + std::string(name);
    if (text == word || text == word + " (" + std::to_string(++number) + ")") return state;
  }
  return std::nullopt;
}

}  // namespace nccl_env::listing
