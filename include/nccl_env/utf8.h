// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text, and how a terminal shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nccl_env {

// Bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if there is none.
inline std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// `character` is one of UTF-8, as character_length() found it.
inline std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (first < 0x80) return first;
  std::uint32_t code = first & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

// True for what a terminal obeys instead of showing it, and for what hides: controls, line separators, marks
// that turn text around or join it, tags, and characters for private use.
constexpr bool steers_display(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return within(0, 0x1f) || within(0x7f, 0x9f) || code == 0xad || code == 0x61c || within(0x200b, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || within(0xe000, 0xf8ff) || code == 0xfeff ||
         within(0xfff0, 0xffff) || code >= 0xe0000;
}

// Columns that a terminal gives a character: 2 for those of East Asia and pictures, 0 for marks over the one
// before (Unicode Standard Annex 11, Wide and Fullwidth; the common blocks).
constexpr std::size_t columns_of(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  if (within(0x300, 0x36f) || within(0x3099, 0x309a) || within(0xfe00, 0xfe0f) || within(0x20d0, 0x20ff))
    return 0;
  const bool wide = within(0x1100, 0x115f) || within(0x2e80, 0x303e) || within(0x3041, 0xa4cf) ||
                    within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) || within(0xfe30, 0xfe6f) ||
                    within(0xff01, 0xff60) || within(0xffe0, 0xffe6) || within(0x1f300, 0x1f64f) ||
                    within(0x1f680, 0x1f6ff) || within(0x1f900, 0x1f9ff) || within(0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace nccl_env
