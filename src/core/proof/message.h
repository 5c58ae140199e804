// SPDX-License-Identifier: Apache-2.0
// Reads and writes one line of JSON.
#pragma once

#include <simdjson.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "described/reader.h"
#include "described/writer.h"
#include "nccl_env/core/text/json_document.h"
#include "proof/description.h"
#include "text/json_fields.h"

namespace nccl_env::proof {

template <class Object>
std::string line_of(const Object& object) {
  return dump_json(described::write_object(object, false));
}

// Calls read(fields) on the object that the line holds. An error names what was refused.
template <class Read>
auto read_line(std::string_view line, const Read& read)
    -> Result<decltype(read(std::declval<const json::Fields&>()))> {
  if (line.size() > kMaxProofLine) return Error{"a line of more than 64 KiB"};
  simdjson::dom::parser parser(kMaxProofLine);
  if (parser.allocate(line.size(), kMaxJsonDepth) != simdjson::SUCCESS) return Error{"there is no memory"};
  const auto value = json::parse(parser, line);
  if (!value) return value.error();
  json::Sentence refusals;
  auto object = read(json::Fields(*value, {}, refusals));
  if (!refusals.empty()) return Error{refusals.text()};
  return object;
}

}  // namespace nccl_env::proof
