// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/base64.h"

#include <cstdint>

namespace nccl_env::kube {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if ((c == '\n' || c == '\r') && digits == 0) continue;
    const int value = value_of(c);
    if (c == '=' ? digits < 2 : value < 0 || padding > 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(c == '=' ? 0 : value);
    padding += c == '=' ? 1 : 0;
    if (++digits < 4) continue;
    if ((padding == 1 && (group & 0xff) != 0) || (padding == 2 && (group & 0xffff) != 0)) return std::nullopt;
    for (int i = 0; i < 3 - padding; ++i) out += static_cast<char>(group >> (16 - 8 * i) & 0xff);
    group = 0;
    digits = 0;
  }
  if (digits != 0) return std::nullopt;
  return out;
}

}  // namespace nccl_env::kube
