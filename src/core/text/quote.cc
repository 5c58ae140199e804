// SPDX-License-Identifier: Apache-2.0
#include "text/quote.h"

#include <cstddef>

namespace nccl_env {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += "\\x";
      result += kHex[byte >> 4U];
      result += kHex[byte & 0xfU];
    } else {
      result += c;
    }
  }
  result += text.size() > kShown ? "...\"" : "\"";
  return result;
}

}  // namespace nccl_env
