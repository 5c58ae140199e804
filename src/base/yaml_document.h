// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nccl_env {

struct YamlProblem {
  int line = 1;  // both from 1
  int column = 1;
  std::string sentence;
};

// Every document that is not null. The text is UTF-8 without control characters.
std::variant<std::vector<nlohmann::json>, YamlProblem> parse_yaml_documents(std::string_view text);

}  // namespace nccl_env
