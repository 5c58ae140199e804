// SPDX-License-Identifier: Apache-2.0
// Parts of a log's line.
#pragma once

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {

inline bool has(std::string_view text, std::string_view words) {
  return text.find(words) != text.npos;
}
// The first of `all` that the text has; "" if it has none. An empty one ends the list.
template <class Words = std::initializer_list<std::string_view>>
std::string_view first_in(std::string_view text, const Words& all) {
  const auto found = std::ranges::find_if(all, [&](std::string_view words) { return has(text, words); });
  return found == std::end(all) ? std::string_view() : *found;
}
template <class Words = std::initializer_list<std::string_view>>
bool has_any(std::string_view text, const Words& all) {
  return !first_in(text, all).empty();
}
template <class Words = std::initializer_list<std::string_view>>
bool begins_with_any(std::string_view text, const Words& all) {
  return std::ranges::any_of(all, [&](std::string_view words) { return text.starts_with(words); });
}

// The text up to the first character of `ends`, at most 64 bytes: IPv6 in text has 45, a device at most 64.
inline std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, std::min<std::size_t>(text.find_first_of(ends), 64));
}
// Takes what stands before the first character of `ends` off the text, and that character.
inline std::string_view take_word(std::string_view& text, std::string_view ends) {
  const std::string_view word = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}
// The number that the text begins with.
inline std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 9), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The text behind `mark`, or behind the first of several that is there; nothing if none is.
inline std::optional<std::string_view> text_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}
inline std::optional<std::string_view> text_behind(std::string_view text,
                                                   std::initializer_list<std::string_view> marks) {
  const std::string_view mark = first_in(text, marks);
  return mark.empty() ? std::nullopt : text_behind(text, mark);
}
// The word behind it; "" if there is none.
template <class Mark = std::initializer_list<std::string_view>>
std::string_view word_behind(std::string_view text, Mark mark, std::string_view ends = " ,") {
  return up_to(text_behind(text, mark).value_or(""), ends);
}
// The text behind `mark` and before `end`; "" if one of them is missing.
inline std::string_view text_between(std::string_view text, std::string_view mark, std::string_view end) {
  const std::string_view rest = text_behind(text, mark).value_or("");
  const std::size_t at = rest.find(end);
  return at == rest.npos ? std::string_view() : rest.substr(0, at);
}
// The number behind it; nothing if none begins there.
inline std::optional<int> int_behind(std::string_view text, std::string_view mark) {
  return leading_number(text_behind(text, mark).value_or(""));
}

// The names of a map; clang 14 does not compile std::views::keys of libstdc++.
std::vector<std::string> keys_of(const auto& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
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

// "gpu-1" of the process "gpu-1:984"; the process of the thread "gpu-1:984:1357".
inline std::string_view host_of(std::string_view process) {
  return process.substr(0, process.rfind(':'));
}

// "10.0.0.2" of "10.0.0.2<4711>"; of a link-local address without its interface.
inline std::string_view address_of_peer(std::string_view peer) {
  return peer.substr(0, peer.find_first_of("%<"));
}

inline bool is_link_local(std::string_view address) {
  return begins_with_any(address, {"fe80:", "FE80:"});
}
// True of an address that another host may have, too, or that no other host reaches.
inline bool is_of_this_host(std::string_view address) {
  return is_link_local(address) || begins_with_any(address, {"127.", "[fe80:", "169.254."});
}

}  // namespace nccl_env
