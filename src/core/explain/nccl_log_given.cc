// SPDX-License-Identifier: Apache-2.0
// What a pod was given: from its status annotation, its env and the annotations that Binding wrote.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "explain/injected_conf.h"
#include "nccl_env/core/decide/decide.h"
#include "nccl_env/core/explain/nccl_log.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;

const Container* find_container(const Pod& pod, std::string_view name) {
  for (const Container& container : pod.containers) {
    if (container.name == name) return &container;
  }
  return nullptr;
}

// The value that the kubelet gives it; nothing where its annotation is not there.
std::optional<std::string> value_of(const Pod& pod, const EnvEntry& entry) {
  if (!entry.has_source) return std::string(entry.value);
  for (const auto& [annotation, value] : pod.annotations) {
    if (is_node_key(annotation) && entry.field_path == field_path(annotation)) return std::string(value);
  }
  return std::nullopt;
}

// NCCL makes an environment of nccl.conf and tells it as one.
bool is_by_file(const Json& source) {
  return source == to_string(Source::File) || source == to_string(Source::Pod);
}

void add_container(const Pod& pod, const std::optional<GivenFile>& file, const std::string& name,
                   const Json& set, std::vector<InjectedValue>& into) {
  const Container* container = find_container(pod, name);
  if (!container) return;
  for (const auto& [variable, source] : set.items()) {
    if (file && is_by_file(source) && mounts_given_file(*container)) {
      const auto line = file->lines.find(variable);
      if (line != file->lines.end())
        into.push_back({name, variable, line->second, source.get<std::string>()});
    }
    for (const EnvEntry& entry : container->env) {
      if (entry.name != variable) continue;
      if (auto value = value_of(pod, entry); value && !value->empty())
        into.push_back(
            {name, variable, *std::move(value), source.is_string() ? source.get<std::string>() : ""});
    }
  }
}

}  // namespace

Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const Json* object) {
  const auto text = pod.annotation(key::kStatus);
  if (!text)
    return Error{"the pod has no annotation " + std::string(key::kStatus) + ": nothing was injected"};
  const Json status = Json::parse(*text, nullptr, false);
  const auto bad = [&] {
    return Error{"the pod's annotation " + std::string(key::kStatus) + " is not readable"};
  };
  if (!status.is_object()) return bad();
  const auto containers = status.find("containers");
  if (containers == status.end() || !containers->is_object()) return bad();
  if (!container.empty() && !containers->contains(std::string(container)))
    return Error{"the pod's status names no container " + std::string(container)};
  const auto file = read_given_file(pod, object ? *object : Json());
  std::vector<InjectedValue> values;
  for (const auto& [name, entry] : containers->items()) {
    if (!container.empty() && name != container) continue;
    if (!entry.is_object()) return bad();
    const auto set = entry.find("set");
    if (set != entry.end() && set->is_object()) add_container(pod, file, name, *set, values);
  }
  return values;
}

}  // namespace nccl_env
