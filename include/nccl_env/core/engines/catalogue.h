// SPDX-License-Identifier: Apache-2.0
// All variables that are known, whichever engine reads them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/engines/variable.h"

namespace nccl_env {

// NCCL with RCCL, as a name in spec.engines: what it reads has a folder and types of its own.
const Engine& nccl_engine();
// The engines beside NCCL, in the order in which their values are written.
std::span<const Engine* const> other_engines();
const Engine* find_engine(std::string_view name);             // one of all; null: there is none
const Engine* engine_of_variable(std::string_view variable);  // the one that has a row for it; null: none
const EngineVariable* find_engine_variable(std::string_view name);
// The group that the variable of a row stands in, as it may be set by a user; null for none.
const EngineGroup* group_of(std::string_view variable);

// nullptr for a variable that no engine's part of the catalogue holds.
const Variable* find_variable(std::string_view name);
std::span<const Variable* const> all_variables();  // NCCL's by name, then those of the others
// Whether a variable belongs to NCCL, to RCCL, or to another engine (docs/use/policy.md, env), or was meant
// to: nccl_debug, NCLL_DEBUG.
bool has_known_prefix(std::string_view name);
// Whether it may, or may decide about one that does: other programs have names that begin so, too.
bool has_engine_prefix(std::string_view name);
// False for nearly every variable of a container, none of which has a known prefix.
inline bool may_be_known(std::string_view name) {
  if (name.size() < 2 || (name[0] | 0x20) == 'n') return name.size() > 1;
  const bool second = name[1] == 'C' || name[1] == 'L' || name[1] == 'P';
  return second && name[0] >= 'G' && name[0] <= 'U';  // RCCL_, UCX_, GLOO_, MC_, TP_
}

// "is not a variable of UCX's: do you mean UCX_NET_DEVICES?", for a name that is nearly one of the
// catalogue's; nothing for any other.
std::optional<std::string> misspelling(std::string_view name);
// Says what is wrong with this value: nothing if it is in bounds or the variable is not in the catalogue.
// An empty value is always a problem: it is not the same as unset.
std::optional<std::string> value_problem(std::string_view name, std::string_view value);
struct SettingProblem {
  std::string sentence;   // of the name: "NAME is not …"; of the value: "NAME: …"
  std::string remedy{};   // names the value to write, or its range; "" for a problem of the name
  bool as_meant = false;  // its reader makes of it what is meant
};
// Says what is wrong with a variable that a container sets. Nothing where that is not certain.
std::optional<SettingProblem> setting_problem(std::string_view name, std::string_view value);

}  // namespace nccl_env
