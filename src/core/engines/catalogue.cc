// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/catalogue.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engines/gloo/gloo.h"
#include "engines/mooncake/mooncake.h"
#include "engines/nvshmem/nvshmem.h"
#include "engines/ucx/ucx.h"
#include "engines/vllm/vllm.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {

std::span<const Engine* const> other_engines() {
  static const std::array<const Engine*, 5> kEngines{&engines::ucx::engine(), &engines::nvshmem::engine(),
                                                     &engines::gloo::engine(), &engines::mooncake::engine(),
                                                     &engines::vllm::engine()};
  return kEngines;
}

const Engine* find_engine(std::string_view name) {
  for (const Engine* engine : other_engines()) {
    if (engine->name == name) return engine;
  }
  return nullptr;
}

const Engine* engine_of_variable(std::string_view variable) {
  for (const Engine* engine : other_engines()) {
    for (const EngineVariable& row : engine->variables) {
      if (row.row.name == variable) return engine;
    }
  }
  return nullptr;
}

const EngineVariable* find_engine_variable(std::string_view name) {
  for (const Engine* engine : other_engines()) {
    for (const EngineVariable& row : engine->variables) {
      if (row.row.name == name) return &row;
    }
  }
  return nullptr;
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

bool has_known_prefix(std::string_view name) {
  const auto begins = [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size();
  };
  constexpr std::array<std::string_view, 5> kWhole{"NCCL_", "RCCL_", "UCX_", "NVSHMEM_", "GLOO_"};
  if (std::any_of(kWhole.begin(), kWhole.end(), begins)) return true;
  // Other programs have names with these beginnings, too (TP_SIZE), so that each variable counts by itself.
  constexpr std::array<std::string_view, 4> kSome{"MC_", "MOONCAKE_", "TP_", "VLLM_"};
  return std::any_of(kSome.begin(), kSome.end(), begins) && find_engine_variable(name);
}

std::optional<std::string> setting_problem(std::string_view name, std::string_view value) {
  const Variable* known = find_variable(name);
  if (value.empty() && (!known || known->empty_is_unset)) return std::nullopt;
  auto problem = name_problem(name);
  if (!problem) problem = value_problem(name, value);
  if (problem) problem->insert(0, std::string(name) + ": ");
  return problem;
}

std::optional<std::string> value_problem(std::string_view name, std::string_view value) {
  if (value.empty()) return "an empty value is not the same as none: leave the variable out";
  const Variable* variable = find_variable(name);
  if (variable == nullptr) return std::nullopt;
  const Engine* engine = engine_of_variable(name);
  if (!engine) return nccl_value_problem(*variable, value);
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  return plain_kind_problem(*variable, value, engine->name);
}

}  // namespace nccl_env
