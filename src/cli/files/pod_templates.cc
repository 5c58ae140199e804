// SPDX-License-Identifier: Apache-2.0
#include "files/pod_templates.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// A JobSet in a List, the deepest of the known forms, takes 9.
constexpr int kMaxDepth = 32;

std::string name_of(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const std::string name = text_at(metadata, "name");
  return name.empty() ? text_at(metadata, "generateName") : name;
}

bool is_list_of_objects(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_object(); });
}

bool is_pod_spec(const Json& value) {
  return is_list_of_objects(member(value, "containers")) || member(value, "mainContainer").is_object();
}

// An API object of another kind has its own metadata, not the pod's.
bool is_pod(const Json& object) {
  if (!is_list_of_objects(member(member(object, "spec"), "containers"))) return false;
  const std::string kind = text_at(object, "kind");
  return kind.empty() || kind == "Pod";
}

// The pod of a spec that has no metadata beside it.
Json pod_of_spec(const Json& spec) {
  Json pod = Json::object();
  for (const char* name : {"labels", "annotations"}) {
    if (const Json& value = member(spec, name); value.is_object()) pod["metadata"][name] = value;
  }
  Json& into = pod["spec"] = spec;
  const Json& main = member(spec, "mainContainer");
  if (!main.is_object()) return pod;
  Json containers = Json::array({main});
  if (!main.contains("name")) containers[0]["name"] = "main";
  if (const Json& others = member(spec, "containers"); is_list_of_objects(others))
    containers.insert(containers.end(), others.begin(), others.end());
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
    inside.name = text_at(value, "kind") + "/" + own;
    inside.name_space = text_at(member(value, "metadata"), "namespace");
  }
  if (is_pod(value)) return found.push_back({inside.name, path, inside.name_space, value});
  if (is_pod_spec(value)) return found.push_back({inside.name, path, inside.name_space, pod_of_spec(value)});
  for (const auto& [key, inner] : value.items())
    walk(inner, inside, path.empty() ? key : path + "." + key, depth + 1, found);
}

std::string title_of(const Json& object) {
  const std::string kind = text_at(object, "kind");
  const std::string name = name_of(object);
  return (kind.empty() ? "an object without a kind" : kind) + (name.empty() ? "" : "/" + name);
}

}  // namespace

std::vector<PodTemplate> find_pod_templates(const Json& document) {
  std::vector<PodTemplate> found;
  if (text_at(document, "kind") == "AdmissionReview") {
    walk(member(member(document, "request"), "object"), {}, "request.object", 0, found);
  } else {
    walk(document, {}, {}, 0, found);
  }
  return found;
}

std::vector<std::string> objects_without_pods(const Json& document) {
  const Json& items = member(document, "items");
  std::vector<std::string> titles;
  for (const Json& object : items.is_array() ? items : Json::array({document})) {
    const std::string kind = text_at(object, "kind");
    const bool claim = kind == "ResourceClaim" || kind == "ResourceClaimTemplate";
    if (!claim && titles.size() < kMaxTemplates && find_pod_templates(object).empty())
      titles.push_back(title_of(object));
  }
  return titles;
}

}  // namespace nccl_env::cli
