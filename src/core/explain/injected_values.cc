// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/injected_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "explain/injected_conf.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/explain/injected_pod.h"
#include "nccl_env/core/text/json_document.h"

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

// Adds values that are not the pod's own, also beside those that its status promises.
void add_foreign(const Pod& pod, const Json& object, std::string_view only,
                 std::vector<InjectedValue>& into) {
  const auto record = read_pod_record(pod, object);
  if (!record || record->foreign.empty()) return;
  const std::string source(to_string(GivenValue::From::Foreign));
  for (const GivenContainer& container : record->containers) {
    if (!only.empty() && container.name != only) continue;
    for (const GivenValue* given : container.effective()) {
      if (given->from != GivenValue::From::Foreign) continue;
      std::erase_if(into, [&](const InjectedValue& value) {
        return value.container == container.name && value.name == given->name;
      });
      into.push_back({container.name, given->name, given->value, source});
    }
  }
}

}  // namespace

Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const Json* object) {
  std::vector<InjectedValue> values;
  const auto text = pod.annotation(key::kStatus);
  if (!text && object) add_foreign(pod, *object, container, values);
  if (!values.empty()) return values;
  if (!text)
    return Error{"the pod has no annotation " + std::string(key::kStatus) + ": nothing was injected"};
  const Json status = parse_json(*text);
  const auto bad = [&] {
    return Error{"the pod's annotation " + std::string(key::kStatus) + " is not readable"};
  };
  if (!status.is_object()) return bad();
  const auto containers = status.find("containers");
  if (containers == status.end() || !containers->is_object()) return bad();
  if (!container.empty() && !containers->contains(std::string(container)))
    return Error{"the pod's status names no container " + std::string(container)};
  const auto file = read_given_file(pod, object ? *object : Json());
  for (const auto& [name, entry] : containers->items()) {
    if (!container.empty() && name != container) continue;
    if (!entry.is_object()) return bad();
    const auto set = entry.find("set");
    if (set != entry.end() && set->is_object()) add_container(pod, file, name, *set, values);
  }
  if (object) add_foreign(pod, *object, container, values);
  return values;
}

}  // namespace nccl_env
