// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/catalogue.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "engines/gloo/gloo.h"
#include "engines/mooncake/mooncake.h"
#include "engines/nvshmem/nvshmem.h"
#include "engines/ucx/ucx.h"
#include "nccl_env/core/engines/nccl/variable_names.h"
#include "nccl_env/core/engines/nccl/variables.h"
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

std::optional<std::string> setting_problem(std::string_view name, std::string_view value) {
  const Variable* known = find_variable(name);
  if (value.empty() && (!known || known->empty_is_unset)) return std::nullopt;
  if (const auto problem = known ? std::nullopt : misspelling(name))
    return (is_variable_name(name) ? std::string(name) : in_quotes(name)) + " " + *problem;
  auto problem = value_problem(name, value);
  if (!problem && name == variable::kNet) problem = network_problem(value);
  if (problem) problem->insert(0, std::string(name) + ": ");
  return problem;
}

std::string setting_remedy(std::string_view name) {
  const Variable* known = find_variable(name);
  if (!known || known->kind != ValueKind::Integer)
    return "Write it as the sentence says; `nccl-env what " + std::string(name) +
           "` tells what the variable takes.";
  return "Set " + std::string(name) + " to at most " + std::to_string(known->max) + " (at least " +
         std::to_string(known->min) + "), or leave it out.";
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
