// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl/variables.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "nccl/variables_ib.h"
#include "nccl/variables_net.h"
#include "nccl_env/core/fabric/gid.h"
#include "text/quote.h"
#include "text/strict.h"

namespace nccl_env {
namespace {

using catalogue::kFileRows;
using catalogue::kIbRows;
using catalogue::kNetRows;
using catalogue::kSocketRows;
using catalogue::kTuningRows;

constexpr bool before(const Variable& left, const Variable& right) {
  return left.name < right.name;
}

constexpr auto sorted_rows() {
  std::array<Variable, std::size(kIbRows) + std::size(kSocketRows) + std::size(kNetRows) +
                           std::size(kTuningRows) + std::size(kFileRows)>
      rows{};
  auto out = rows.begin();
  for (const std::span<const Variable> part :
       {std::span<const Variable>(kIbRows), std::span<const Variable>(kSocketRows),
        std::span<const Variable>(kNetRows), std::span<const Variable>(kTuningRows),
        std::span<const Variable>(kFileRows)}) {
    out = std::copy(part.begin(), part.end(), out);
  }
  std::sort(rows.begin(), rows.end(), before);
  return rows;
}

constexpr auto kVariables = sorted_rows();
constexpr std::string_view kPrefix = "NCCL_";
static_assert(std::all_of(kVariables.begin(), kVariables.end(),
                          [](const Variable& row) { return row.name.starts_with(kPrefix); }));

constexpr std::size_t kLongestName = 63;     // NCCL up to 2.30.4 copies a list's names into 64 bytes
constexpr std::size_t kLongestValue = 1023;  // NCCL cuts the values of its configuration files there

using Problem = std::optional<std::string>;

std::string with_reason(std::string problem, const Variable& variable) {
  return problem + ": " + std::string(variable.note);
}

Problem integer_problem(const Variable& variable, std::string_view value) {
  const auto number = plain_decimal(value);
  if (!number) {
    const auto read = nccl_integer(value);
    return in_quotes(value) + " is not a plain decimal number" +
           (read ? ": NCCL would read " + std::to_string(*read) : std::string());
  }
  if (*number >= variable.min && *number <= variable.max) return std::nullopt;
  return with_reason(
      in_quotes(value) + " is outside " + std::to_string(variable.min) + ".." + std::to_string(variable.max),
      variable);
}

Problem enum_problem(const Variable& variable, std::string_view value) {
  std::string accepted;
  for (const std::string_view choice : variable.choices) {
    if (value == choice || (variable.ignore_case && equal_ignoring_case(value, choice))) return std::nullopt;
    accepted += (accepted.empty() ? "" : ", ") + std::string(choice);
  }
  return with_reason(in_quotes(value) + " is not one of " + accepted, variable);
}

// Cuts the text before the separator off `rest`; `more` says whether there was one.
std::string_view cut(std::string_view& rest, char separator, bool& more) {
  const std::size_t end = rest.find(separator);
  more = end != std::string_view::npos;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(more ? end + 1 : rest.size());
  return part;
}

Problem name_problem(std::string_view name, std::string_view entry) {
  if (name.empty())
    return "the list has an empty entry, which NCCL drops: without names it means something else";
  if (name.size() > kLongestName) return "a name has more than 63 bytes, which NCCL has no room for";
  if (name.find_first_of("^=") != std::string_view::npos) {
    return in_quotes(entry) + ": '^' and '=' stand once, in this order, before the whole list";
  }
  if (!is_printable_ascii(name) || name.find(' ') != std::string_view::npos) {
    return in_quotes(entry) +
           " holds a blank or an unprintable character, which NCCL takes as part of the name";
  }
  return std::nullopt;
}

// What follows a device's name: PORT, RAIL, PLANE.
Problem suffix_problem(std::string_view rest, std::string_view entry) {
  struct Part {
    std::string_view name;
    std::int64_t min, max;
  };
  // Verbs ports are a byte from 1; rails 16 bits; NCCL keeps bit 14 of a plane for itself.
  constexpr Part kParts[] = {{"port", 1, 255}, {"rail", 0, 32767}, {"plane", 0, 16383}};
  bool more = true;
  for (const Part& part : kParts) {
    if (!more) return std::nullopt;
    const auto number = plain_decimal(cut(rest, ':', more));
    if (number && *number >= part.min && *number <= part.max) continue;
    return in_quotes(entry) + ": the " + std::string(part.name) + " is not a number in " +
           std::to_string(part.min) + ".." + std::to_string(part.max);
  }
  if (more) return in_quotes(entry) + " has more parts than NAME:PORT:RAIL:PLANE";
  return std::nullopt;
}

Problem entry_problem(const Variable& variable, std::string_view entry) {
  bool has_suffix = false;
  std::string_view rest = entry;
  const std::string_view name = cut(rest, ':', has_suffix);
  if (auto problem = name_problem(name, entry)) return problem;
  if (!has_suffix) return std::nullopt;
  if (variable.kind == ValueKind::InterfaceList) return in_quotes(entry) + ": an interface has no port";
  return suffix_problem(rest, entry);
}

// The entries of a list, without the prefixes.
Problem entries_problem(const Variable& variable, std::string_view entries) {
  std::int64_t count = 0;
  for (bool more = true; more; ++count) {
    const std::string_view entry = cut(entries, ',', more);
    if (auto problem = entry_problem(variable, entry)) return problem;
  }
  if (variable.max > 0 && count > variable.max) {
    return std::to_string(count) + " entries, of which NCCL reads the first " + std::to_string(variable.max);
  }
  return std::nullopt;
}

Problem list_problem(const Variable& variable, std::string_view value) {
  if (variable.kind == ValueKind::InterfaceList && value.size() < 2) {
    return in_quotes(value) + " has one character: NCCL ignores it";
  }
  if (value.starts_with('^')) value.remove_prefix(1);
  if (value.starts_with('=')) value.remove_prefix(1);
  return entries_problem(variable, value);
}

Problem groups_problem(const Variable& variable, std::string_view value) {
  for (bool more = true; more;) {
    const std::string_view group = cut(value, ';', more);
    if (auto problem = entries_problem(variable, group)) return with_reason(*problem, variable);
  }
  return std::nullopt;
}

Problem cidr_problem(const Variable& variable, std::string_view value) {
  const auto range = parse_cidr(value);
  if (range.ok()) return std::nullopt;
  return with_reason(in_quotes(value) + " is not ADDRESS/PREFIX", variable);
}

Problem text_problem(const Variable& variable, std::string_view value) {
  if (variable.kind == ValueKind::Path && value.starts_with('~')) {
    return in_quotes(value) + ": nothing expands '~' in an environment variable";
  }
  return std::nullopt;
}

Problem kind_problem(const Variable& variable, std::string_view value) {
  switch (variable.kind) {
    case ValueKind::Integer:
      return integer_problem(variable, value);
    case ValueKind::Enum:
      return enum_problem(variable, value);
    case ValueKind::HcaList:
    case ValueKind::InterfaceList:
      return list_problem(variable, value);
    case ValueKind::HcaGroups:
      return groups_problem(variable, value);
    case ValueKind::Cidr:
      return cidr_problem(variable, value);
    case ValueKind::Path:
    case ValueKind::Text:
      return text_problem(variable, value);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Ranks value) {
  switch (value) {
    case Ranks::Node:
      return "node";
    case Ranks::Fabric:
      return "fabric";
    case Ranks::Equal:
      return "equal";
    case Ranks::Any:
      return "any";
  }
  return "unknown";
}

std::string_view to_string(ValueKind value) {
  switch (value) {
    case ValueKind::Integer:
      return "integer";
    case ValueKind::Enum:
      return "word";
    case ValueKind::HcaList:
      return "HCA list";
    case ValueKind::HcaGroups:
      return "HCA groups";
    case ValueKind::InterfaceList:
      return "interface list";
    case ValueKind::Cidr:
      return "address range";
    case ValueKind::Path:
      return "path";
    case ValueKind::Text:
      return "text";
  }
  return "unknown";
}

const Variable* find_variable(std::string_view name) {
  if (!name.starts_with(kPrefix)) return nullptr;  // nearly every variable of a container
  const auto found =
      std::lower_bound(kVariables.begin(), kVariables.end(), name,
                       [](const Variable& row, std::string_view key) { return row.name < key; });
  return found != kVariables.end() && found->name == name ? &*found : nullptr;
}

std::span<const Variable> all_variables() {
  return kVariables;
}

std::optional<std::string> value_problem(std::string_view name, std::string_view value) {
  if (value.empty()) return "an empty value is not the same as none: leave the variable out";
  const Variable* variable = find_variable(name);
  if (variable == nullptr) return std::nullopt;
  if (value.size() > kLongestValue) return "has more than 1023 bytes, where NCCL cuts the lines of its files";
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  return kind_problem(*variable, value);
}

std::optional<std::int64_t> nccl_integer(std::string_view text) {
  const std::string terminated(text);
  errno = 0;
  const long long number = std::strtoll(terminated.c_str(), nullptr, 0);
  if (errno == ERANGE) return std::nullopt;
  return number;
}

}  // namespace nccl_env
