// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/value.h"

#include <algorithm>

namespace nccl_env {

const Value* find_named(const std::vector<Value>& values, std::string_view name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const Value& value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

}  // namespace nccl_env
