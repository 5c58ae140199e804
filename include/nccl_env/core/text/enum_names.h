// SPDX-License-Identifier: Apache-2.0
// Names of an enumeration, as an array in the order of its enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace nccl_env {

template <class Enum, std::size_t N>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

// Whether each entry of a table stands at the place of its enumerator.
template <class Entries, class Entry, class Enum>
constexpr bool in_order(const Entries& entries, Enum Entry::*key) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (static_cast<std::size_t>(entries[i].*key) != i) return false;
  }
  return true;
}

}  // namespace nccl_env
