// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_document.h"

namespace nccl_env {

using nlohmann::json;

json parse_json(std::string_view text) {
  bool good = true;
  // Nothing more is kept once it is too deep.
  const auto keep = [&good](int depth, json::parse_event_t event, json&) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kMaxJsonDepth) good = false;
    return good;
  };
  json document = json::parse(text, keep, false);
  return good ? std::move(document) : json(json::value_t::discarded);
}

}  // namespace nccl_env
