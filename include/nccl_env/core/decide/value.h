// SPDX-License-Identifier: Apache-2.0
// A variable of NCCL or a related library, as a container has it or is to have it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/plan.h"

namespace nccl_env {

struct Value {
  std::string name;
  std::optional<std::string> value = {};  // as the kubelet resolves it; absent: not there, or not known here
  Source source = Source::User;
  // True for an absent value that will not come: its annotation is empty or not there, and NCCL takes it for
  // unset; or the file has no such line. Any other absent value is the user's valueFrom or $(…), or comes
  // with the node or the pod's start.
  bool missing = false;
  // For a variable that is left out: a reason's name, or a clause ("its annotation is not there").
  std::string reason = {};
  // For a variable that is left out: one sentence; "" stands for that of the reason. For a constant that
  // differs from node to node: the variant that gives it.
  std::string detail = {};
  std::string container = {};  // where values of several containers stand together

  auto operator<=>(const Value&) const = default;
};

// Returns null if no value has the name.
inline const Value* find_named(const std::vector<Value>& values, std::string_view name) {
  for (const Value& value : values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

}  // namespace nccl_env
