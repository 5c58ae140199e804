// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nccl_env {
namespace {

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
using SignedBytes [[gnu::vector_size(16)]] = signed char;

Bytes bytes_at(const char* place) {
  Bytes bytes;
  std::memcpy(&bytes, place, sizeof(bytes));
  return bytes;
}

// A byte of ones for each at which a number may begin; outside of strings none begins elsewhere. Behind ':',
// ',', '[' and blanks, with some more that make it two instructions each, stands one of -./0123456789.
Bytes begins_at(const char* place) {
  const Bytes before = bytes_at(place - 1), moved = bytes_at(place) + ('\x7f' - '9');
  return Bytes(SignedBytes(moved) > '\x7f' - '9' + '-' - 1) &
         Bytes(((before | 0x61) == '{') | (before == ',') | (SignedBytes(before) <= ' '));
}

// Whether there may be too many, with those counted that stand inside of strings, and some twice. It takes a
// tenth of the time of a pass that tells strings apart, and hardly any document is passed on.
bool may_hold_too_many(std::string_view text) {
  constexpr std::size_t kParts = 4, kBlock = kParts * sizeof(Bytes);
  if (text.size() <= kBlock) return true;
  const std::size_t last = text.size() - kBlock;
  int others = 0;
  for (std::size_t at = 1; true; at = std::min(at + kBlock, last)) {  // one at 0 is the whole document
    const char* const block = text.data() + at;
    Bytes begins{};  // a bit for each part, the lowest for the last
    begins -= begins_at(block);
    begins += begins - begins_at(block + sizeof(Bytes));
    begins += begins - begins_at(block + 2 * sizeof(Bytes));
    begins += begins - begins_at(block + 3 * sizeof(Bytes));
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), &begins, sizeof begins);
    for (std::size_t half = 0; half < halves.size(); ++half) {
      for (std::uint64_t bits = halves[half]; bits != 0; bits &= bits - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
        const std::size_t part = kParts - 1 - bit % 8;
        behind_number(text, at + part * sizeof(Bytes) + half * sizeof(std::uint64_t) + bit / 8, others);
      }
    }
    if (at == last || others > kMostOtherNumbers) return others > kMostOtherNumbers;
  }
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
