// SPDX-License-Identifier: Apache-2.0
#include "manifests/crd.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "nccl_env/base/yaml.h"
#include "support/places.h"

namespace nccl_env::tests {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

class Validator {
 public:
  std::vector<std::string> found;

  void check(const Json& schema, const Json& value, const std::string& path) {
    const std::string type = schema.value("type", "");
    if (schema.value("x-kubernetes-int-or-string", false)) {
      if (!value.is_string() && !value.is_number_integer()) refuse(path, "is neither number nor string");
    } else if (type == "object"    ? !value.is_object()
               : type == "array"   ? !value.is_array()
               : type == "string"  ? !value.is_string()
               : type == "boolean" ? !value.is_boolean()
               : type == "integer" ? !value.is_number_integer()
               : type == "number"  ? !value.is_number()
                                   : true) {
      refuse(path, "is no " + type);
      return;
    }
    if (value.is_object()) fields(schema, value, path);
    if (value.is_array()) items(schema, value, path);
    if (value.is_string()) text(schema, value.get<std::string>(), path);
    if (value.is_number()) number(schema, value.get<double>(), path);
  }

 private:
  void refuse(const std::string& path, const std::string& why) { found.push_back(path + ": " + why); }

  void fields(const Json& schema, const Json& value, const std::string& path) {
    const bool open = !schema.contains("properties") && !schema.contains("additionalProperties");  // metadata
    for (const auto& [name, field] : value.items()) {
      const std::string at = path.empty() ? name : path + "." + name;
      if (schema.contains("properties") && schema["properties"].contains(name)) {
        check(schema["properties"][name], field, at);
      } else if (schema.contains("additionalProperties")) {
        check(schema["additionalProperties"], field, at);
      } else if (!open) {
        refuse(at, "is no field");
      }
    }
    for (const auto& name : schema.value("required", Json::array())) {
      if (!value.contains(name)) refuse(path, "has no " + name.get<std::string>());
    }
    if (value.size() > schema.value("maxProperties", value.size())) refuse(path, "has too many entries");
  }

  void items(const Json& schema, const Json& value, const std::string& path) {
    if (value.size() > schema.value("maxItems", value.size())) refuse(path, "has too many items");
    if (value.size() < schema.value("minItems", std::size_t{0})) refuse(path, "has too few items");
    for (std::size_t i = 0; i < value.size(); ++i) {
      check(schema.at("items"), value[i], path + "[" + std::to_string(i) + "]");
    }
  }

  void text(const Json& schema, const std::string& value, const std::string& path) {
    if (value.size() > schema.value("maxLength", value.size())) refuse(path, "is too long");
    if (value.size() < schema.value("minLength", std::size_t{0})) refuse(path, "is too short");
    const Json words = schema.value("enum", Json::array());
    if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end()) {
      refuse(path, value + " is none of " + words.dump());
    }
    const std::string pattern = schema.value("pattern", "");
    if (!std::regex_search(value, std::regex(pattern))) refuse(path, value + " does not match " + pattern);
  }

  void number(const Json& schema, double value, const std::string& path) {
    const double least = schema.value("minimum", value);
    const bool open = schema.value("exclusiveMinimum", false);
    if (value < least || (open && value == least)) refuse(path, "is too small");
    if (value > schema.value("maximum", value)) refuse(path, "is too large");
  }
};

}  // namespace

Json crd_schema(const std::string& name) {
  const std::string path = tests::in_source("/manifests/base/crds/" + name + ".yaml");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto documents = parse_documents(text, path);
  if (!documents || documents->size() != 1) throw std::runtime_error(path + " is no single document");
  return documents->at(0).at("/spec/versions/0/schema/openAPIV3Schema"_json_pointer);
}

std::vector<std::string> violations(const Json& schema, const Json& value, const std::string& path) {
  Validator validator;
  validator.check(schema, value, path);
  return validator.found;
}

Json with_defaults(const Json& schema, Json value) {
  if (value.is_array() && schema.contains("items")) {
    for (Json& item : value) item = with_defaults(schema["items"], item);
  }
  if (!value.is_object() || !schema.contains("properties")) return value;
  for (const auto& [name, field] : schema["properties"].items()) {
    if (!value.contains(name) && field.contains("default")) value[name] = field["default"];
    if (value.contains(name)) value[name] = with_defaults(field, value[name]);
  }
  return value;
}

Json put(Json object, const Json::json_pointer& at, Json value) {
  object[at] = std::move(value);
  return object;
}

}  // namespace nccl_env::tests
