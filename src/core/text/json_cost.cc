// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_cost.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nccl_env {
namespace {

// One byte, or many at once: GCC's and clang's vectors have the same operators.
auto may_begin_number(auto before, auto c) {
  const auto is_digit = static_cast<decltype(c)>(c - '0') < 10;
  return (is_digit | (c == '-')) & ((before == ':') | (before == ',') | (before == '[') | (before <= ' '));
}

bool is_in_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Returns the place behind the number that begins at `at`, and counts it if it is not a plain one.
std::size_t behind_number(std::string_view text, std::size_t at, int& others) {
  const std::size_t begin = at;
  bool exponent = false;
  for (; at < text.size() && is_in_number(text[at]); ++at)
    exponent = exponent || text[at] == 'e' || text[at] == 'E';
  others += exponent || at - begin > kPlainNumberBytes ? 1 : 0;
  return at;
}

static_assert(std::endian::native == std::endian::little);  // the lowest bits are the first byte's
using Bytes [[gnu::vector_size(16)]] = unsigned char;

Bytes bytes_at(const char* place) {
  Bytes bytes;
  std::memcpy(&bytes, place, sizeof(bytes));
  return bytes;
}

// Whether there may be too many, with those counted that stand inside of strings. It takes a tenth of the
// time of a pass that tells strings apart, and hardly any document is passed on.
bool may_hold_too_many(std::string_view text) {
  int others = 0;
  const auto look_at = [&](std::size_t at) {
    const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
    const auto before = at == 0 ? static_cast<unsigned char>(' ') : byte(at - 1);
    if (may_begin_number(before, byte(at)) != 0) behind_number(text, at, others);
  };
  std::size_t at = 0;
  if (!text.empty()) look_at(at++);
  constexpr std::size_t kBlock = 4 * sizeof(Bytes);  // hardly any begins a number: one branch for each
  for (; at + kBlock <= text.size() && others <= kMostOtherNumbers; at += kBlock) {
    const char* const block = text.data() + at;
    std::array<std::uint64_t, kBlock / sizeof(std::uint64_t)> begins;  // a byte of ones for each that does
    Bytes any{};
    for (std::size_t i = 0; i < kBlock; i += sizeof(Bytes)) {
      const auto bytes = Bytes(may_begin_number(bytes_at(block + i - 1), bytes_at(block + i)));
      std::memcpy(begins.data() + i / sizeof(std::uint64_t), &bytes, sizeof bytes);
      any |= bytes;
    }
    std::array<std::uint64_t, 2> halves{};
    std::memcpy(halves.data(), &any, sizeof any);
    if ((halves[0] | halves[1]) == 0) continue;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      for (std::uint64_t ones = begins[i] & 0x0101010101010101U; ones != 0; ones &= ones - 1) {
        const auto byte = static_cast<std::size_t>(std::countr_zero(ones)) / 8;
        behind_number(text, at + i * sizeof(std::uint64_t) + byte, others);
      }
    }
  }
  for (; at < text.size(); ++at) look_at(at);
  return others > kMostOtherNumbers;
}

}  // namespace

bool holds_costly_numbers(std::string_view text) {
  if (!may_hold_too_many(text)) return false;
  int others = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size() && others <= kMostOtherNumbers;) {
    const char c = text[at];
    if (in_string) {
      in_string = c != '"';
      at += c == '\\' ? 2 : 1;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      at = behind_number(text, at, others);
    } else {
      in_string = c == '"';
      ++at;
    }
  }
  return others > kMostOtherNumbers;
}

}  // namespace nccl_env
