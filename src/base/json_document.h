// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace nccl_env {

struct TextProblem {
  std::size_t offset = 0;  // of the byte in question
  std::string sentence;
};

// One JSON value and nothing else.
std::variant<nlohmann::json, TextProblem> parse_json_document(std::string_view text);

}  // namespace nccl_env
