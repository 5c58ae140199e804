// SPDX-License-Identifier: Apache-2.0
// Lists and counts in sentences.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace nccl_env {

// "a, b": each item as `text` gives it.
template <class Items, class Text = std::identity>
std::string join(const Items& items, std::string_view between = ", ", Text text = {}) {
  std::string joined;
  std::string_view before;
  for (const auto& item : items) {
    joined.append(before).append(std::invoke(text, item));
    before = between;
  }
  return joined;
}

// "a, b and 7 more": the first ones, so that a sentence stays readable however long the list is.
template <class Items, class Text = std::identity>
std::string join_some(const Items& items, std::size_t most, Text text = {}) {
  std::string joined;
  std::size_t count = 0;
  for (const auto& item : items) {
    if (count < most) joined.append(count > 0 ? ", " : "").append(std::invoke(text, item));
    ++count;
  }
  return count > most ? joined + " and " + std::to_string(count - most) + " more" : joined;
}

// "1 port", "3 ports".
inline std::string count_of(std::size_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

}  // namespace nccl_env
