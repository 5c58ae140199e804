// SPDX-License-Identifier: Apache-2.0
#include "text/quote.h"

#include <cstddef>

#include "nccl_env/hex.h"

namespace nccl_env {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string result = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += "\\x";
      append_hex(result, byte);
    } else {
      result += c;
    }
  }
  result += text.size() > kShown ? "...\"" : "\"";
  return result;
}

}  // namespace nccl_env
