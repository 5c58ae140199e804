// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/planned.h"

#include <array>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/json_text.h"

namespace nccl_env {

std::string_view to_string(Form form) {
  constexpr std::array<std::string_view, 3> kNames{"Binding", "Constants", "ContainerStart"};
  return name_in(kNames, form);
}

void EscapedText::append(std::string_view part) {
  text += part;
  const std::size_t start = escaped.size();
  json::append_string(escaped, part);
  escaped.erase(start, 1).pop_back();
}

void NodeValues::leave_out(Value value) {
  refuse(value);
  omitted.push_back(std::move(value));
}

void NodeValues::refuse(const Value& value) {
  if (may_deny(*value.reason) && !deny) deny = value;
}

std::string_view followed(std::string_view variable) {
  if (variable.starts_with("NCCL_")) return variable;
  const EngineVariable* known = find_engine_variable(variable);
  switch (known ? known->follows : Follows::Nothing) {
    case Follows::Ports:
      return variable::kIbHca;
    case Follows::Interface:
      return variable::kSocketIfname;
    case Follows::TrafficClass:
      return variable::kIbTc;
    case Follows::ServiceLevel:
      return variable::kIbSl;
    case Follows::Nothing:
      return variable;
  }
  return variable;
}

const std::string* NodeValues::find(std::string_view variable) const {
  for (const auto* values : {&set, &engines}) {
    if (const auto value = values->find(variable); value != values->end()) return &value->second;
  }
  return nullptr;
}

const Value* NodeValues::omission(std::string_view variable) const {
  const Value* own = find_named(omitted, variable);
  return own ? own : find_named(omitted, followed(variable));
}

std::string_view NodeValues::env_text(std::string_view variable) const {
  if (variable == variable::kIbHca && plain_hcas) return *plain_hcas;
  const std::string* value = find(variable);
  return value ? *value : std::string_view();
}

}  // namespace nccl_env
