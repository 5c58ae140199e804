// SPDX-License-Identifier: Apache-2.0
#include "files/pod_templates.h"

#include <nlohmann/json.hpp>

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

// A JobSet in a List, the deepest of the known forms, takes 9.
constexpr int kMaxDepth = 32;

const Json* field(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json* value) {
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

std::string name_of(const Json& object) {
  const Json* metadata = field(object, "metadata");
  if (!metadata) return {};
  const std::string name = text_of(field(*metadata, "name"));
  return name.empty() ? text_of(field(*metadata, "generateName")) : name;
}

bool is_pod(const Json& object) {
  const Json* spec = field(object, "spec");
  const Json* containers = spec ? field(*spec, "containers") : nullptr;
  return containers && containers->is_array();
}

struct Owner {
  std::string name;
  std::string name_space;
};

void walk(const Json& value, const Owner& owner, const std::string& path, int depth,
          std::vector<PodTemplate>& found) {
  if (depth > kMaxDepth || found.size() > kMaxTemplates) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      walk(value[i], owner, path + "[" + std::to_string(i) + "]", depth + 1, found);
    return;
  }
  if (!value.is_object()) return;
  Owner inside = owner;
  if (const std::string own = name_of(value); !own.empty() && value.contains("kind")) {
    inside.name = text_of(field(value, "kind")) + "/" + own;
    inside.name_space = text_of(field(*field(value, "metadata"), "namespace"));
  }
  if (is_pod(value)) return found.push_back({inside.name, path, inside.name_space, &value});
  for (const auto& [key, inner] : value.items())
    walk(inner, inside, path.empty() ? key : path + "." + key, depth + 1, found);
}

}  // namespace

std::vector<PodTemplate> find_pod_templates(const Json& document) {
  std::vector<PodTemplate> found;
  if (text_of(field(document, "kind")) == "AdmissionReview") {
    const Json* request = field(document, "request");
    const Json* object = request ? field(*request, "object") : nullptr;
    if (object) walk(*object, {}, "request.object", 0, found);
  } else {
    walk(document, {}, {}, 0, found);
  }
  return found;
}

}  // namespace nccl_env::app
