// SPDX-License-Identifier: Apache-2.0
// Parts of a log's line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {

// The text behind `mark`; nothing if `mark` is not in the text.
inline std::optional<std::string_view> text_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}

// The number behind `mark`; nothing if none begins there.
inline std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view mark) {
  const auto rest = text_behind(text, mark);
  std::uint64_t number = 0;
  if (!rest || std::from_chars(rest->data(), rest->data() + rest->size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

template <class Words = std::initializer_list<std::string_view>>
bool begins_with_any(std::string_view text, const Words& all) {
  return std::ranges::any_of(all, [&](std::string_view words) { return text.starts_with(words); });
}

inline bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// The text without blanks and line ends around it.
inline std::string_view trimmed_text(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r\n") - begin + 1);
}

// "10.0.0.2" of "10.0.0.2<4711>"; of a link-local address without its interface.
inline std::string_view address_of_peer(std::string_view peer) {
  return peer.substr(0, peer.find_first_of("%<"));
}

}  // namespace nccl_env
