// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/catalogue.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "engines/gloo/gloo.h"
#include "engines/mooncake/mooncake.h"
#include "engines/nvshmem/nvshmem.h"
#include "engines/ucx/ucx.h"
#include "nccl_env/core/engines/nccl/variable_names.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {

const Engine& nccl_engine() {
  static constexpr Engine kNccl{
      .name = "NCCL", .used_by = "NCCL and RCCL", .variables = {}, .groups = {}, .select = nullptr};
  return kNccl;
}

std::span<const Engine* const> other_engines() {
  static const std::array<const Engine*, 4> kEngines{&engines::ucx::engine(), &engines::nvshmem::engine(),
                                                     &engines::gloo::engine(), &engines::mooncake::engine()};
  return kEngines;
}

const Engine* find_engine(std::string_view name) {
  if (name == nccl_engine().name) return &nccl_engine();
  for (const Engine* engine : other_engines()) {
    if (engine->name == name) return engine;
  }
  return nullptr;
}

namespace {

struct Owned {
  const Engine* engine = nullptr;
  const EngineVariable* row = nullptr;
  const EngineGroup* group = nullptr;
};

const EngineGroup* group_in(const Engine& engine, std::string_view variable) {
  const auto found = std::find_if(engine.groups.begin(), engine.groups.end(), [&](const EngineGroup& group) {
    return is_member(group, variable, std::nullopt);
  });
  return found == engine.groups.end() ? nullptr : &*found;
}

Owned owned(std::string_view variable) {
  static const std::unordered_map<std::string_view, Owned> kRows = [] {
    std::unordered_map<std::string_view, Owned> rows;
    for (const Engine* engine : other_engines()) {
      for (const EngineVariable& row : engine->variables)
        rows.emplace(row.row.name, Owned{engine, &row, group_in(*engine, row.row.name)});
    }
    return rows;
  }();
  const auto found = kRows.find(variable);
  return found == kRows.end() ? Owned() : found->second;
}

}  // namespace

const Engine* engine_of_variable(std::string_view variable) {
  return owned(variable).engine;
}

const EngineVariable* find_engine_variable(std::string_view name) {
  return owned(name).row;
}

const EngineGroup* group_of(std::string_view variable) {
  return owned(variable).group;
}

const Variable* find_variable(std::string_view name) {
  if (name.starts_with("NCCL_")) return find_nccl_variable(name);
  if (!has_known_prefix(name)) return nullptr;  // nearly every variable of a container
  const EngineVariable* found = find_engine_variable(name);
  return found ? &found->row : nullptr;
}

std::span<const Variable* const> all_variables() {
  static const std::vector<const Variable*> kAll = [] {
    std::vector<const Variable*> all;
    for (const Variable& row : nccl_variables()) all.push_back(&row);
    for (const Engine* engine : other_engines()) {
      for (const EngineVariable& row : engine->variables) all.push_back(&row.row);
    }
    return all;
  }();
  return kAll;
}

bool has_engine_prefix(std::string_view name) {
  constexpr std::array<std::string_view, 7> kPrefixes{"NCCL_", "NVSHMEM_", "RCCL_", "UCX_",
                                                      "GLOO_", "MC_",      "TP_"};
  return may_be_known(name) && std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
           return name.starts_with(prefix) && name.size() > prefix.size();
         });
}

// Other programs have names with some of the beginnings (TP_SIZE): there each variable counts by itself.
bool has_known_prefix(std::string_view name) {
  if (!has_engine_prefix(name)) return name_problem(name).has_value();  // misspelt
  const bool shared = std::string_view("MT").find(name.front()) != std::string_view::npos;
  return !shared || find_engine_variable(name);
}

std::optional<std::string> misspelling(std::string_view name) {
  if (auto of_nccl = name_problem(name)) return of_nccl;
  // The catalogue does not hold all that these engines read, so a name is a letter off at most.
  const std::string_view prefix = name.substr(0, std::min(name.find('_'), name.size()));
  if (prefix != "UCX" && prefix != "GLOO" && prefix != "NVSHMEM") return std::nullopt;
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Engine* engine : other_engines()) {
      for (const EngineVariable& row : engine->variables) names.push_back(row.row.name);
    }
    return names;
  }();
  const std::string_view meant = nearest(name, kNames, 1);
  if (meant.empty() || meant == name) return std::nullopt;
  return "is not a variable of " + std::string(engine_of_variable(meant)->name) + "'s: do you mean " +
         std::string(meant) + "?";
}

namespace {

// The value that is meant by one that is refused; "" where that is open.
std::string meant_value(const Variable& variable, std::string_view value) {
  std::string meant;
  if (variable.kind == ValueKind::Integer) {
    if (const auto number = meant_number(variable, value)) meant = std::to_string(*number);
  } else if (variable.kind != ValueKind::Text) {
    const char separator = variable.kind == ValueKind::HcaGroups ? ';' : ',';
    for (const char c : value) {
      if (std::string_view(" \t\r\n\"'`").find(c) == std::string_view::npos)
        meant += c == ';' || c == '|' ? separator : c;
    }
    if (variable.kind == ValueKind::Enum) meant = nearest(meant, variable.choices, 1);
  }
  return value_problem(variable.name, meant) ? "" : meant;
}

std::string range_of(const Variable& variable) {
  if (variable.kind == ValueKind::Enum) return "one of " + join(variable.choices);
  const std::string least = std::to_string(variable.min), most = std::to_string(variable.max);
  if (variable.max == variable.min + 1) return least + " or " + most;
  return variable.max < std::numeric_limits<std::int32_t>::max() ? "a number from " + least + " to " + most
                                                                 : "a number, " + least + " or more,";
}

std::string setting_remedy(const Variable& variable, std::string_view value) {
  const std::string meant = meant_value(variable, value), name(variable.name);
  if (meant.empty() && variable.kind != ValueKind::Integer && variable.kind != ValueKind::Enum)
    return "Correct " + name + ", or leave it out; `nccl-env what " + name + "` tells what it takes.";
  return "Write " + (meant.empty() ? range_of(variable) : meant) + " in " + name + ", or leave it out.";
}

}  // namespace

std::optional<SettingProblem> setting_problem(std::string_view name, std::string_view value) {
  const Variable* known = find_variable(name);
  if (value.empty() && (!known || known->empty_is_unset)) return std::nullopt;
  if (const auto problem = known ? std::nullopt : misspelling(name))
    return SettingProblem{(is_variable_name(name) ? std::string(name) : in_quotes(name)) + " " + *problem};
  auto problem = value_problem(name, value);
  if (!problem && name == variable::kNet) problem = network_problem(value);
  if (!problem || !known) return std::nullopt;
  return SettingProblem{std::string(name) + ": " + *problem, setting_remedy(*known, value),
                        is_read_as_meant(*known, value)};
}

std::optional<std::string> value_problem(std::string_view name, std::string_view value) {
  if (value.empty()) return "an empty value is not the same as none: leave the variable out";
  const Variable* variable = find_variable(name);
  if (variable == nullptr) return std::nullopt;
  const Engine* engine = engine_of_variable(name);
  if (!engine) {
    auto problem = nccl_value_problem(*variable, value);
    return problem ? problem : listed_name_problem(*variable, value);
  }
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  return plain_kind_problem(*variable, value, engine->name);
}

}  // namespace nccl_env
