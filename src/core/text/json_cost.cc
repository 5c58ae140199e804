// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_cost.h"

#include <algorithm>
#include <array>
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

using Bytes [[gnu::vector_size(16)]] = unsigned char;
constexpr std::size_t kBlock = 32;

Bytes bytes_at(const char* place) {
  Bytes bytes;
  std::memcpy(&bytes, place, sizeof(bytes));
  return bytes;
}

// Whether a number may begin in this block, before which one byte is readable.
bool may_hold_number(const char* block) {
  auto any = may_begin_number(bytes_at(block - 1), bytes_at(block));
  for (std::size_t i = sizeof(Bytes); i < kBlock; i += sizeof(Bytes))
    any |= may_begin_number(bytes_at(block + i - 1), bytes_at(block + i));
  std::array<std::uint64_t, 2> halves{};
  std::memcpy(halves.data(), &any, sizeof(any));
  return (halves[0] | halves[1]) != 0;
}

// Whether there may be too many, with those counted that stand inside of strings. It takes a tenth of the
// time of a pass that tells strings apart, and hardly any document is passed on.
bool may_hold_too_many(std::string_view text) {
  int others = 0;
  for (std::size_t at = 0; at < text.size() && others <= kMostOtherNumbers;) {
    const std::size_t end = std::min(at + kBlock, text.size());
    if (at > 0 && end - at == kBlock && !may_hold_number(text.data() + at)) {
      at = end;
      continue;
    }
    while (at < end) {
      const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
      const bool begins =
          may_begin_number(at == 0 ? static_cast<unsigned char>(' ') : byte(at - 1), byte(at)) != 0;
      at = begins ? behind_number(text, at, others) : at + 1;
    }
  }
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
