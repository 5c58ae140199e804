// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/spelling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

constexpr std::size_t kLongest = 128;  // longer words are not misspellings of ours

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(left[i]) == lower(right[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row[right.size()];
}

// How often each letter stands in a word; some letters share a place.
using Letters = std::array<std::int8_t, 32>;
Letters letters_of(std::string_view text) {
  Letters letters{};
  for (const char c : text) ++letters[static_cast<unsigned char>(lower(c)) % letters.size()];
  return letters;
}

// An edit changes these counts by two at most. A stranger may name thousands of variables, and the edit
// distance to each name that is known would take them half a second.
bool may_be_within(std::size_t edits, const Letters& letters, std::string_view candidate) {
  const Letters others = letters_of(candidate);
  int apart = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) apart += std::abs(letters[i] - others[i]);
  return static_cast<std::size_t>(apart) <= 2 * edits;
}

}  // namespace

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates,
                         std::size_t edits) {
  if (text.size() > kLongest) return {};
  std::string_view best;
  // Two edits of a word of three letters leave nothing of it.
  std::size_t best_distance = std::min(edits, text.size() / 2) + 1;
  const Letters letters = letters_of(text);
  for (const std::string_view candidate : candidates) {
    const auto [shorter, longer] = std::minmax({text.size(), candidate.size()});
    if (longer - shorter >= best_distance) continue;  // so many insertions at least
    if (!may_be_within(best_distance - 1, letters, candidate)) continue;
    const std::size_t distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace nccl_env
