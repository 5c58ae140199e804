// SPDX-License-Identifier: Apache-2.0
#include "text/managed_fields.h"

#include <algorithm>

namespace nccl_env::json {

std::optional<Timestamp> newest_write(Element metadata, std::string_view manager) {
  std::optional<Timestamp> newest;
  simdjson::dom::array entries;
  if (metadata["managedFields"].get(entries) != simdjson::SUCCESS) return newest;
  for (const Element entry : entries) {
    std::string_view writer, part, time;
    if (entry["subresource"].get(part) == simdjson::SUCCESS && !part.empty()) continue;
    if (entry["manager"].get(writer) != simdjson::SUCCESS || (!manager.empty() && writer != manager))
      continue;
    if (entry["time"].get(time) != simdjson::SUCCESS) continue;
    if (const auto read = parse_timestamp(time)) newest = std::max(newest, std::optional(*read));
  }
  return newest;
}

}  // namespace nccl_env::json
