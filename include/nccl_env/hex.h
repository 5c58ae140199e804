// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal text, in lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nccl_env {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

inline void append_hex(std::string& out, std::uint8_t byte) {
  out += kHexDigits[byte >> 4U];
  out += kHexDigits[byte & 0xfU];
}

inline std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) append_hex(text, byte);
  return text;
}

}  // namespace nccl_env
