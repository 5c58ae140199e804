// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_document.h"

namespace nccl_env {
namespace {

// Whether brackets outside strings nest deeper than kMaxJsonDepth. One pass before the parser: nlohmann's own
// callback for this searches the parent again at the end of each object, which is quadratic.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  if (is_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace nccl_env
