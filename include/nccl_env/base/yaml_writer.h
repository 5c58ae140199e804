// SPDX-License-Identifier: Apache-2.0
// Writes JSON as YAML that people read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nccl_env {

// Writes one document in block style, with a newline at its end. It reads back as the same JSON; strings are
// quoted where YAML 1.1 or 1.2 would read something else. Bytes that are not UTF-8 become U+FFFD, a number
// that JSON does not have becomes null. Recursive: the caller bounds the depth of the value.
std::string to_yaml(const nlohmann::json& value);
std::string to_yaml(const nlohmann::ordered_json& value);

}  // namespace nccl_env
