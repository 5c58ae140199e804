// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/variable.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Problem = std::optional<std::string>;

constexpr std::size_t kLongestInterface = 15;  // Linux: IFNAMSIZ without its end
constexpr std::size_t kLongestDevice = 63;     // Linux: IB_DEVICE_NAME_MAX likewise

constexpr std::string_view kYes[] = {"true", "on", "yes", "enable", "enabled"};
constexpr std::string_view kNo[] = {"false", "off", "no", "disable", "disabled"};

// Returns the bits that mlx5 keeps of a number beyond the bounds.
std::optional<std::int64_t> cut_to_bits(const Variable& variable, std::int64_t number) {
  if (variable.bits == 0 || number <= variable.max) return std::nullopt;
  return number & ((std::int64_t{1} << variable.bits) - 1);
}

Problem integer_problem(const Variable& variable, std::string_view value, std::string_view reader) {
  if (std::find(variable.choices.begin(), variable.choices.end(), value) != variable.choices.end())
    return std::nullopt;
  const auto number = plain_decimal(value);
  const auto read = nccl_integer(value);
  if (!number && read) {
    const auto meant = meant_number(variable, value);
    return in_quotes(value) + " is not a plain decimal number: " + std::string(reader) + " would read " +
           std::to_string(*read) + (meant == read ? " all the same" : "") + ": write " +
           (meant ? std::to_string(*meant) : "a whole number");
  }
  if (number && *number >= variable.min && *number <= variable.max) return std::nullopt;
  const auto cut = number ? cut_to_bits(variable, *number) : std::nullopt;
  return with_note(in_quotes(value) + " is outside " + std::to_string(variable.min) + ".." +
                       std::to_string(variable.max) +
                       (cut ? ", and mlx5 makes " + std::to_string(*cut) + " of it" : ""),
                   variable);
}

Problem enum_problem(const Variable& variable, std::string_view value) {
  for (const std::string_view choice : variable.choices)
    if (value == choice || (variable.ignore_case && equal_ignoring_case(value, choice))) return std::nullopt;
  return with_note(in_quotes(value) + " is not one of " + join(variable.choices), variable);
}

Problem cidr_problem(const Variable& variable, std::string_view value) {
  const auto range = parse_cidr(value);
  if (range.ok()) return std::nullopt;
  return with_note(in_quotes(value) + " is not ADDRESS/PREFIX", variable);
}

Problem path_problem(std::string_view value) {
  if (value.starts_with('~')) return in_quotes(value) + ": nothing expands '~' in an environment variable";
  return std::nullopt;
}

// A name that stands for one device or interface, as it is.
Problem exact_name_problem(std::string_view name, std::size_t longest, std::string_view value,
                           std::string_view reader) {
  if (name.starts_with('=') || name.starts_with('^')) {
    return in_quotes(value) + " has '" + std::string(name.substr(0, 1)) +
           "', which is NCCL's grammar: " + std::string(reader) + " takes names alone";
  }
  if (name.empty()) return in_quotes(value) + " has an empty entry";
  if (name.size() > longest)
    return in_quotes(value) + " has a name of more than " + std::to_string(longest) + " bytes";
  if (!is_printable_ascii(name) || name.find(' ') != std::string_view::npos)
    return in_quotes(value) + " holds a blank or an unprintable character";
  return std::nullopt;
}

Problem names_problem(const Variable& variable, std::string_view value, std::string_view reader) {
  const bool ports = variable.kind == ValueKind::DeviceList;
  std::string_view rest = value;
  if (ports && rest.starts_with('^')) rest.remove_prefix(1);  // all but these
  std::int64_t count = 0;
  for (bool more = true; more; ++count) {
    std::string_view entry = cut_entry(rest, ',', more);
    bool has_port = false;
    const std::string_view name = ports ? cut_entry(entry, ':', has_port) : entry;
    if (auto problem = exact_name_problem(name, kLongestDevice, value, reader)) return problem;
    const auto port = has_port ? plain_decimal(entry) : std::optional<std::int64_t>(1);
    if (!port || *port < 1 || *port > 255) return in_quotes(value) + " has a port that is not in 1..255";
  }
  if (variable.max > 0 && count > variable.max) {
    return std::to_string(count) + " entries, of which " + std::string(reader) + " reads the first " +
           std::to_string(variable.max);
  }
  return std::nullopt;
}

// Characters that no name has, and people write into lists.
struct ForeignCharacters {
  std::string_view characters;
  std::string_view remedy;
};
constexpr ForeignCharacters kForeign[] = {
    {";|/", "a list is NAME,NAME"},
    {"*?[]", "NCCL knows no patterns, and takes a name without '=' for all that begin with it"},
    {"\"'`", "the quotes count as part of the name"},
};

Problem foreign_problem(std::string_view name, std::string_view value) {
  for (const auto& [characters, remedy] : kForeign) {
    const std::size_t at = name.find_first_of(characters);
    if (at != name.npos)
      return in_quotes(value) + " holds " + in_quotes(name.substr(at, 1)) +
             ", which no name has: " + std::string(remedy);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> meant_number(const Variable& variable, std::string_view value) {
  constexpr std::string_view kAround = " \t\r\n\"'";
  value.remove_prefix(std::min(value.find_first_not_of(kAround), value.size()));
  value = value.substr(0, value.find_last_not_of(kAround) + 1);
  if (const auto number = plain_decimal(value)) return number;
  const bool hex = (value.starts_with("0x") || value.starts_with("0X")) && value.size() > 2 &&
                   value.find_first_not_of("0123456789abcdefABCDEF", 2) == value.npos;
  if (hex || (value.starts_with('+') && plain_decimal(value.substr(1)))) return nccl_integer(value);
  const bool is_switch = variable.max == 1 || variable.name.ends_with("ABLE");  // NAME_ENABLE, NAME_DISABLE
  const auto is_meant = [&](std::string_view word) { return equal_ignoring_case(value, word); };
  if (is_switch && std::ranges::any_of(kYes, is_meant)) return 1;
  if (is_switch && std::ranges::any_of(kNo, is_meant)) return 0;
  return std::nullopt;
}

bool is_read_as_meant(const Variable& variable, std::string_view value) {
  if (variable.kind != ValueKind::Integer) return false;
  const auto meant = meant_number(variable, value);
  if (!meant || meant != nccl_integer(value)) return false;
  return *meant > variable.max ? cut_to_bits(variable, *meant) == variable.max : *meant >= variable.min;
}

std::string_view to_string(Ranks value) {
  constexpr std::array<std::string_view, 4> kNames{"node", "fabric", "equal", "any"};
  return name_in(kNames, value);
}

std::string_view agreement_text(Ranks value) {
  return value == Ranks::Equal    ? "has to be equal on all ranks"
         : value == Ranks::Fabric ? "should be equal on all ranks of one fabric"
                                  : "";
}

std::string_view to_string(ValueKind value) {
  constexpr std::array<std::string_view, 12> kNames{
      "integer", "word", "HCA list",      "HCA groups",  "interface list", "address range",
      "path",    "text", "exact devices", "exact names", "one interface",  "word list"};
  return name_in(kNames, value);
}

std::string with_note(std::string problem, const Variable& variable) {
  return variable.note.empty() ? problem : problem + ": " + std::string(variable.note);
}

std::string_view cut_entry(std::string_view& rest, char separator, bool& more) {
  const std::size_t end = rest.find(separator);
  more = end != std::string_view::npos;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(more ? end + 1 : rest.size());
  return part;
}

std::optional<std::string> plain_kind_problem(const Variable& variable, std::string_view value,
                                              std::string_view reader) {
  switch (variable.kind) {
    case ValueKind::Integer:
      return integer_problem(variable, value, reader);
    case ValueKind::Enum:
      return enum_problem(variable, value);
    case ValueKind::Cidr:
      return cidr_problem(variable, value);
    case ValueKind::Path:
      return path_problem(value);
    case ValueKind::DeviceList:
    case ValueKind::NameList:
      return names_problem(variable, value, reader);
    case ValueKind::InterfaceName:
      return exact_name_problem(value, kLongestInterface, value, reader);
    case ValueKind::HcaList:
    case ValueKind::HcaGroups:
    case ValueKind::InterfaceList:
    case ValueKind::WordList:
    case ValueKind::Text:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> listed_name_problem(const Variable& variable, std::string_view value) {
  const bool interfaces = variable.kind == ValueKind::InterfaceList;
  const bool groups = variable.kind == ValueKind::HcaGroups;
  if (!interfaces && !groups && variable.kind != ValueKind::HcaList) return std::nullopt;
  std::string_view rest = value.substr(std::min(value.find_first_not_of("^="), value.size()));
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find_first_of(groups ? ",;" : ","));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::string_view name = entry.substr(0, entry.find(':'));
    if (auto problem = foreign_problem(name, value)) return problem;
    if (interfaces && name.size() > kLongestInterface)
      return in_quotes(name) + " has more than " + std::to_string(kLongestInterface) +
             " characters, as no interface's name has";
  }
  return std::nullopt;
}

std::optional<std::int64_t> nccl_integer(std::string_view text) {
  const std::string terminated(text);
  errno = 0;
  const long long number = std::strtoll(terminated.c_str(), nullptr, 0);
  if (errno == ERANGE) return std::nullopt;
  return number;
}

}  // namespace nccl_env
