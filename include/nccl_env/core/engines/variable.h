// SPDX-License-Identifier: Apache-2.0
// A variable of the environment as a catalogue describes it: NCCL's or another engine's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nccl_env {

enum class ValueKind {
  Integer,        // plain decimal between min and max; NCCL takes strtoll(base 0) and checks nothing
  Enum,           // one of `choices`
  HcaList,        // [^][=]NAME[:PORT[:RAIL[:PLANE]]],…
  HcaGroups,      // NAME[:PORT],…;…  exact names, no prefixes
  InterfaceList,  // [^][=]NAME,…
  Cidr,           // one ADDRESS/PREFIX
  Path,           // printable ASCII, no leading ~
  Text,           // printable ASCII
  DeviceList,     // NAME[:PORT],…  exact names
  NameList,       // NAME,…  exact names
  InterfaceName,  // one exact name
  WordList,       // [^]WORD,… of `choices` in any case; NCCL also takes FUNCTION:[^]WORD,… behind a ';'
};

// Ranks of a job that need the same value.
enum class Ranks {
  Node,    // belongs to the node: other nodes may need another
  Fabric,  // the same on one fabric: switches or peers expect it, or it is advised
  Equal,   // the same on all ranks, or the job fails
  Any,     // ranks may differ
};
std::string_view to_string(Ranks value);  // node, fabric, equal, any
// "has to be equal on all ranks": of a variable's values, behind "which"; "" where ranks may differ.
std::string_view agreement_text(Ranks value);
std::string_view to_string(ValueKind value);

struct Variable {
  std::string_view name;
  ValueKind kind = ValueKind::Text;
  std::int64_t min = 0;                            // Integer only
  std::int64_t max = 0;                            // Integer; lists: how many entries are read
  std::span<const std::string_view> choices = {};  // Enum, WordList; Integer: words beside the numbers
  bool ignore_case = false;                        // Enum only
  bool empty_is_unset = false;  // an existing but empty variable acts as if it did not exist
  Ranks ranks = Ranks::Any;
  int bits = 0;             // Integer: mlx5 keeps so many of the lowest bits; 0: not known
  bool loads_code = false;  // names a library or plugin
  std::string_view note;    // why the bounds are what they are; shown when a value is refused
};

// Says what is wrong with a value of those kinds that all engines read alike; nothing for the kinds of
// NCCL's own grammar. `reader`: the engine's name, for the sentence.
std::optional<std::string> plain_kind_problem(const Variable& variable, std::string_view value,
                                              std::string_view reader);
// Returns the number that is meant by a text with blanks, quotes, a plus or 0x, and of a switch by a word as
// "True"; nothing where that is open.
std::optional<std::int64_t> meant_number(const Variable& variable, std::string_view value);
// Whether the reader makes of a number that is refused what is meant: of "0x3", or the most that there is.
bool is_read_as_meant(const Variable& variable, std::string_view value);
// Says which name in a list of NCCL's own grammar no device or interface of Linux has, so that the entry
// selects nothing; nothing for the other kinds.
std::optional<std::string> listed_name_problem(const Variable& variable, std::string_view value);
// The sentence, and behind it why the bounds are what they are.
std::string with_note(std::string problem, const Variable& variable);
// Cuts the text before the separator off `rest`; `more` says whether there was one.
std::string_view cut_entry(std::string_view& rest, char separator, bool& more);

// strtoll(text, nullptr, 0) as C programs read integers: "022" -> 18, "abc" -> 0, "22abc" -> 22. nullopt on
// overflow, where NCCL takes its default.
std::optional<std::int64_t> nccl_integer(std::string_view text);

}  // namespace nccl_env
