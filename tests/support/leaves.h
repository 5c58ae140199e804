// SPDX-License-Identifier: Apache-2.0
// Leaves of a JSON document, for tests that change one by chance.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace nccl_env::tests {

// A value of the document that holds no other value, by chance.
inline nlohmann::json& some_leaf(nlohmann::json& document, std::mt19937& random) {
  std::vector<nlohmann::json*> leaves;
  std::vector<nlohmann::json*> open{&document};
  while (!open.empty()) {
    nlohmann::json& value = *open.back();
    open.pop_back();
    if (!value.is_structured() || value.empty()) {
      leaves.push_back(&value);
    } else {
      for (nlohmann::json& child : value) open.push_back(&child);
    }
  }
  return *leaves[random() % leaves.size()];
}

}  // namespace nccl_env::tests
