// SPDX-License-Identifier: Apache-2.0
// Any text as YAML or JSON: what is read can be written and reads back the same, and JSON is read as
// nlohmann reads it.
#include <algorithm>
#include <cmath>

#include "fuzz/fuzz.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/base/yaml_writer.h"

namespace nccl_env::fuzz::yaml_fuzz {
namespace {

// NaN and infinities have no JSON.
bool is_json(const nlohmann::json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  return std::all_of(value.begin(), value.end(), is_json);
}

template <class Json>
void check_writer(const nlohmann::json& document, const Json& as) {
  const std::string written = to_yaml(as);
  const auto again = parse_documents(written, "written.yaml");
  require(again.ok(), "what is written can be read");
  require(again->size() == 1 && again->front() == document, "and reads the same");
}

}  // namespace

FUZZ_TARGET(yaml) {
  const auto documents = parse_documents(input, "a.yaml");
  const nlohmann::json json = nlohmann::json::parse(input, nullptr, false);
  if (!documents) require(!documents.error().message.empty(), "a refusal has a sentence");
  const auto strict = parse_documents(input, "a.json");
  if (strict && !strict->empty()) {
    require(strict->size() == 1 && strict->front() == json, "nlohmann reads the same");
  }
  if (strict && json.is_structured())
    require(documents && *documents == *strict, "JSON is read as JSON in any file");
  if (!documents) return;
  for (const nlohmann::json& document : *documents) {
    require(!document.is_null(), "null documents are left out");
    if (!is_json(document)) continue;
    check_writer(document, document);
    check_writer(document, nlohmann::ordered_json::parse(document.dump()));
  }
}

}  // namespace nccl_env::fuzz::yaml_fuzz
