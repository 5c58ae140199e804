// SPDX-License-Identifier: Apache-2.0
// What a pod was given: from its status annotation, its env and the annotations that Binding wrote.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide.h"
#include "nccl_env/core/nccl_log.h"

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

// What nccl.conf says, where a Binding brought it: NCCL makes an environment of it and tells it as one.
std::optional<std::string> line_of(const Pod& pod, std::string_view variable) {
  if (!pod.own_volume) return std::nullopt;
  for (const auto& [annotation, text] : pod.annotations) {
    if (!is_node_key(annotation) || pod.own_volume->field_path != field_path(annotation)) continue;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.starts_with(variable) && line.substr(variable.size()).starts_with('='))
        return std::string(line.substr(variable.size() + 1));
    }
  }
  return std::nullopt;
}

void add_container(const Pod& pod, const std::string& name, const Json& set,
                   std::vector<InjectedValue>& into) {
  const Container* container = find_container(pod, name);
  if (!container) return;
  for (const auto& [variable, source] : set.items()) {
    if (source == to_string(Source::File)) {
      if (auto value = line_of(pod, variable))
        into.push_back({name, variable, *std::move(value), source.get<std::string>()});
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

Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container) {
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
  std::vector<InjectedValue> values;
  for (const auto& [name, entry] : containers->items()) {
    if (!container.empty() && name != container) continue;
    if (!entry.is_object()) return bad();
    const auto set = entry.find("set");
    if (set != entry.end() && set->is_object()) add_container(pod, name, *set, values);
  }
  return values;
}

}  // namespace nccl_env
