// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/planned.h"

#include <array>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

std::string_view to_string(Form form) {
  constexpr std::array<std::string_view, 3> kNames{"Binding", "Constants", "ContainerStart"};
  return name_in(kNames, form);
}

void NodeValues::leave_out(Value value) {
  refuse(value);
  omitted.push_back(std::move(value));
}

void NodeValues::refuse(const Value& value) {
  if (may_deny(*value.reason) && !deny) deny = value;
}

std::string_view NodeValues::reference_text(std::string_view variable) const {
  const auto value = set.find(variable);
  if (value == set.end()) return {};
  return variable == variable::kIbHca && plain_hcas ? *plain_hcas : value->second;
}

}  // namespace nccl_env
