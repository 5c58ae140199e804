// SPDX-License-Identifier: Apache-2.0
// How the rows of the catalogue are written. Unless a row says otherwise, empty acts as unset and the
// value names no code.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "nccl_env/core/nccl/variables.h"

namespace nccl_env::catalogue {

using enum Ranks;

inline constexpr std::int64_t kLarge = std::numeric_limits<std::int32_t>::max();

using Name = std::string_view;
using Note = std::string_view;

constexpr Variable integer(Name name, std::int64_t min, std::int64_t max, Ranks ranks, Note note) {
  return {.name = name,
          .kind = ValueKind::Integer,
          .min = min,
          .max = max,
          .choices = {},
          .empty_is_unset = true,
          .ranks = ranks,
          .note = note};
}

constexpr Variable flag(Name name, Ranks ranks, Note note) {
  return integer(name, 0, 1, ranks, note);
}

constexpr Variable one_of(Name name, std::span<const std::string_view> choices, Ranks ranks, Note note) {
  return {.name = name,
          .kind = ValueKind::Enum,
          .choices = choices,
          .empty_is_unset = true,
          .ranks = ranks,
          .note = note};
}

constexpr Variable of_kind(ValueKind kind, Name name, Ranks ranks, Note note) {
  return {.name = name, .kind = kind, .choices = {}, .empty_is_unset = true, .ranks = ranks, .note = note};
}

constexpr Variable text(Name name, Ranks ranks, Note note) {
  return of_kind(ValueKind::Text, name, ranks, note);
}

constexpr Variable path(Name name, Ranks ranks, Note note) {
  return of_kind(ValueKind::Path, name, ranks, note);
}

constexpr Variable list(ValueKind kind, Name name, std::int64_t most, Ranks ranks, Note note) {
  Variable row = of_kind(kind, name, ranks, note);
  row.max = most;
  return row;
}

constexpr Variable empty_counts(Variable row) {
  row.empty_is_unset = false;
  return row;
}

constexpr Variable ignoring_case(Variable row) {
  row.ignore_case = true;
  return row;
}

constexpr Variable loads_code(Variable row) {
  row.loads_code = true;
  return row;
}

inline constexpr std::string_view kFamilies[] = {"AF_INET", "AF_INET6"};
// ncclGetLevel compares whole words in this case, then takes one leading digit; anything else it drops
// without a line in the log.
inline constexpr std::string_view kLevels[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN",
                                               "PHB", "SYS", "0",   "1",   "2",   "3",   "4",   "5"};
inline constexpr std::string_view kMergeLevels[] = {"LOC", "PORT", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS"};
inline constexpr std::string_view kMergePolicies[] = {"ALL", "RAIL"};
inline constexpr std::string_view kDebugLevels[] = {"VERSION", "WARN", "INFO", "ABORT", "TRACE"};

}  // namespace nccl_env::catalogue
