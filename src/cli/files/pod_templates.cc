// SPDX-License-Identifier: Apache-2.0
#include "files/pod_templates.h"

#include <algorithm>
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

bool is_list_of_objects(const Json* value) {
  return value && value->is_array() &&
         std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_object(); });
}

bool is_pod_spec(const Json& value) {
  const Json* main = field(value, "mainContainer");
  return is_list_of_objects(field(value, "containers")) || (main && main->is_object());
}

// An object of the API of another kind has metadata of its own, not the pod's.
bool is_pod(const Json& object) {
  const Json* spec = field(object, "spec");
  if (!spec || !is_list_of_objects(field(*spec, "containers"))) return false;
  const std::string kind = text_of(field(object, "kind"));
  return kind.empty() || kind == "Pod";
}

// The pod of a spec that has no metadata beside it.
Json pod_of_spec(const Json& spec) {
  Json pod = Json::object();
  for (const char* name : {"labels", "annotations"}) {
    const Json* value = field(spec, name);
    if (value && value->is_object()) pod["metadata"][name] = *value;
  }
  Json& into = pod["spec"] = spec;
  const Json* main = field(spec, "mainContainer");
  if (!main || !main->is_object()) return pod;
  Json containers = Json::array({*main});
  if (!main->contains("name")) containers[0]["name"] = "main";
  if (const Json* others = field(spec, "containers"); is_list_of_objects(others))
    containers.insert(containers.end(), others->begin(), others->end());
  into["containers"] = std::move(containers);
  return pod;
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
  if (is_pod(value)) return found.push_back({inside.name, path, inside.name_space, value});
  if (is_pod_spec(value)) return found.push_back({inside.name, path, inside.name_space, pod_of_spec(value)});
  for (const auto& [key, inner] : value.items())
    walk(inner, inside, path.empty() ? key : path + "." + key, depth + 1, found);
}

std::string title_of(const Json& object) {
  const std::string kind = text_of(field(object, "kind"));
  const std::string name = name_of(object);
  return (kind.empty() ? "an object without a kind" : kind) + (name.empty() ? "" : "/" + name);
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

std::vector<std::string> objects_without_pods(const Json& document) {
  const Json* items = field(document, "items");
  const bool list = items && items->is_array();
  std::vector<std::string> titles;
  for (const Json& object : list ? *items : Json::array({document})) {
    if (titles.size() < kMaxTemplates && find_pod_templates(object).empty())
      titles.push_back(title_of(object));
  }
  return titles;
}

}  // namespace nccl_env::app
