// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/base64.h"

#include <cstdint>

namespace nccl_env::kube {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if ((c == '\n' || c == '\r') && digits == 0) continue;
    const std::size_t value = kDigits.find(c);
    if (c == '=' ? digits < 2 : value == kDigits.npos || padding > 0) return std::nullopt;
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

std::string encode_base64(std::string_view bytes) {
  const auto at = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) : 0;
  };
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    for (int digit = 0; digit < 4; ++digit) out += kDigits[group >> (18 - 6 * digit) & 63];
  }
  for (std::size_t i = 0; i < (3 - bytes.size() % 3) % 3; ++i) out[out.size() - 1 - i] = '=';
  return out;
}

}  // namespace nccl_env::kube
