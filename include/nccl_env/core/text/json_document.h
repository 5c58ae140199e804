// SPDX-License-Identifier: Apache-2.0
// JSON text of others as a tree: replies of an API server, annotations, what a plugin prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace nccl_env {

// Levels of arrays and objects that a document may have: Kubernetes objects stay below twenty.
inline constexpr int kMaxJsonDepth = 64;

// Returns the one value that the text holds; json::value_t::discarded where it is not JSON, or nested deeper
// than kMaxJsonDepth. Throws nothing: an exception would quote the text. A tree is some dozen times as large
// as its text, so the caller bounds the text.
nlohmann::json parse_json(std::string_view text);

// One line of JSON; bytes that are not UTF-8 become U+FFFD.
template <class Json>
std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nccl_env
