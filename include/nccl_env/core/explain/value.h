// SPDX-License-Identifier: Apache-2.0
// A variable of NCCL or its like, as a container has it or is to have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/plan.h"

namespace nccl_env {

struct Value {
  std::string name;
  std::optional<std::string> value;  // as the kubelet resolves it; absent: not there, or not known here
  Source source = Source::User;
  // Absent for good: its annotation is empty or not there, and NCCL takes it for unset; of a file: it has no
  // such line. Else an absent value is the user's valueFrom or $(…), or comes with the node or the pod's
  // start.
  bool missing = false;
  std::string why = {};  // of a constant that differs from node to node: the variant that gives it
};

// Null: none has the name.
inline const Value* find_named(const std::vector<Value>& values, std::string_view name) {
  for (const Value& value : values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

}  // namespace nccl_env
