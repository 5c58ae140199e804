// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/list_source.h"

#include "text/json_fields.h"

namespace nccl_env {

std::string ListSource::items_without(std::span<const std::size_t> left_out) const {
  std::string out;
  simdjson::dom::array list;
  if (std::bit_cast<json::Element>(handle_).get(list) != simdjson::SUCCESS) return out;
  std::size_t position = 0;
  auto next = left_out.begin();
  for (const json::Element item : list) {
    if (next != left_out.end() && *next == position++) {
      ++next;
      continue;
    }
    if (!out.empty()) out += ',';
    out += simdjson::minify(item);
  }
  return out;
}

}  // namespace nccl_env
