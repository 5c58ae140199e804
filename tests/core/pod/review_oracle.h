// SPDX-License-Identifier: Apache-2.0
// A second, slow reading of reviews: through nlohmann's tree instead of simdjson. The two must accept the
// same documents and see the same values.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env::tests {

using Json = nlohmann::json;

inline Json child(const Json& object, const char* key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

inline std::string text_of(const Json& object, const char* key) {
  const Json text = child(object, key);
  return text.is_null() ? std::string() : text.get<std::string>();
}

// Of each entry, the texts under the keys.
inline Json texts_of(const Json& entries, std::initializer_list<const char*> keys) {
  Json made = Json::array();
  for (const Json& entry : entries) {
    Json row = Json::array();
    for (const char* key : keys) row.push_back(text_of(entry, key));
    made.push_back(row);
  }
  return made;
}

// A Pod's contents as a tree that can be compared and printed.
inline Json summary(const Pod& pod) {
  Json made{{"name", pod.name},
            {"generateName", pod.generate_name},
            {"uid", pod.uid},
            {"node", pod.node_name},
            {"hostNetwork", pod.host_network},
            {"hasMetadata", pod.has_metadata},
            {"hasAnnotations", pod.has_annotations}};
  made["labels"] = Json::array();
  for (const auto& [key, value] : pod.labels) made["labels"].push_back({key, value});
  made["annotations"] = Json::array();
  for (const auto& [key, value] : pod.annotations) made["annotations"].push_back({key, value});
  made["hostPaths"] = Json::array();
  for (const HostPathVolume& volume : pod.host_paths) made["hostPaths"].push_back({volume.name, volume.path});
  made["runsAsRoot"] = pod.runs_as_root;
  made["hasResources"] = pod.has_resources;
  made["hasInit"] = pod.has_init;
  made["volumes"] = pod.has_volumes ? Json(pod.volume_count) : Json();
  if (const auto& own = pod.own_volume) {
    Json items = Json::array();
    for (const VolumeItem& item : own->items) items.push_back({item.path, item.field_path});
    made["ownVolume"] = {own->index, own->empty_dir, items};
  }
  if (const auto& own = pod.own_container) made["ownContainer"] = {own->position, own->image, own->args};
  made["hostIpc"] = pod.host_ipc;
  made["memoryVolumes"] = Json::array();
  for (const MemoryVolume& volume : pod.memory_volumes) made["memoryVolumes"].push_back(volume.name);
  made["claims"] = Json::array();
  for (const PodClaim& claim : pod.claims)
    made["claims"].push_back({claim.name, claim.resource_claim, claim.claim_template});
  made["containers"] = Json::array();
  for (const Container& container : pod.containers) {
    Json entry{
        {"name", container.name},
        {"hasMounts", container.has_mounts},
        {"hasCompute", container.has_compute},
        {"alwaysPulls", container.always_pulls},
        {"limits", {container.limits.cpu, container.limits.memory, container.limits.ephemeral_storage}},
        {"requests",
         {container.requests.cpu, container.requests.memory, container.requests.ephemeral_storage}},
        {"init", container.kind == ContainerKind::Init},
        {"index", container.index},
        {"hasEnv", container.has_env},
        {"envFrom", container.env_from_prefixes}};
    entry["resources"] = std::set<std::string>(container.resources.begin(), container.resources.end());
    entry["env"] = Json::array();
    for (const EnvEntry& env : container.env)
      entry["env"].push_back({env.name, env.value, env.has_source, env.field_path});
    entry["privileged"] = container.privileged;
    entry["locksMemory"] = container.locks_memory;
    entry["arguments"] = container.arguments;
    entry["claims"] = Json::array();
    for (const ClaimUse& use : container.claims) entry["claims"].push_back({use.claim, use.request});
    entry["mounts"] = Json::array();
    for (const VolumeMount& mount : container.mounts)
      entry["mounts"].push_back({mount.volume, mount.mount_path, mount.sub_path, mount.read_only});
    made["containers"].push_back(entry);
  }
  return made;
}

inline bool oracle_positive(const Json& quantity) {
  if (quantity.is_number()) return quantity.get<double>() > 0;
  const std::string text = quantity.get<std::string>();
  if (!text.empty() && text[0] == '-') return false;
  for (const char c : text) {
    if (c >= '1' && c <= '9') return true;
    if (c != '0' && c != '.' && c != '+') return false;
  }
  return false;
}

inline Json oracle_own_volume(const Json& volume, std::size_t index) {
  Json kept = Json::array();
  for (const Json& item : child(child(volume, "downwardAPI"), "items"))
    if (kept.size() < 8)
      kept.push_back({text_of(item, "path"), text_of(child(item, "fieldRef"), "fieldPath")});
  return {index, !child(volume, "emptyDir").is_null(), kept};
}

inline void add_oracle_rest(const Json& container, Json& entry) {
  const Json security = child(container, "securityContext");
  const Json added = child(child(security, "capabilities"), "add");
  entry["privileged"] = child(security, "privileged") == true;
  entry["locksMemory"] = std::any_of(added.begin(), added.end(),
                                     [](const Json& name) { return name == "IPC_LOCK" || name == "ALL"; });
  entry["arguments"] = Json::array();
  bool matters = false;
  for (const char* list : {"command", "args"}) {
    for (const Json& word : child(container, list)) {
      entry["arguments"].push_back(word);
      for (const char* part : {"NCCL_", "sshd", "slurmd"})
        matters = matters || word.get<std::string>().find(part) != std::string::npos;
    }
  }
  if (!matters) entry["arguments"].clear();
  entry["claims"] = texts_of(child(child(container, "resources"), "claims"), {"name", "request"});
}

// The same from nlohmann's tree of the pod object. Precondition: simdjson accepted it.
inline Json oracle_summary(const Json& object) {
  const Json metadata = child(object, "metadata"), spec = child(object, "spec");
  Json made{{"name", text_of(metadata, "name")},
            {"generateName", text_of(metadata, "generateName")},
            {"uid", text_of(metadata, "uid")},
            {"node", text_of(spec, "nodeName")},
            {"hasMetadata", metadata.is_object()}};
  const auto pairs = [](const Json& map) {
    Json list = Json::array();
    for (const auto& [key, value] : map.items())
      list.push_back({key, value.is_null() ? "" : value.get<std::string>()});
    return list;
  };
  made["hostNetwork"] = child(spec, "hostNetwork") == true;
  const Json annotations = child(metadata, "annotations");
  made["hasAnnotations"] = annotations.is_object();
  made["labels"] = pairs(child(metadata, "labels"));
  made["annotations"] = pairs(annotations);
  for (const char* list : {"hostPaths", "memoryVolumes", "containers"}) made[list] = Json::array();
  made["hostIpc"] = child(spec, "hostIPC") == true;
  made["runsAsRoot"] = child(child(spec, "securityContext"), "runAsUser") == 0;
  made["hasResources"] = !child(spec, "resources").is_null();
  made["hasInit"] = child(spec, "initContainers").is_array();
  const Json volumes = child(spec, "volumes");
  made["volumes"] = volumes.is_array() ? Json(volumes.size()) : Json();
  made["claims"] =
      texts_of(child(spec, "resourceClaims"), {"name", "resourceClaimName", "resourceClaimTemplateName"});
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string name = text_of(volumes[i], "name");
    if (name == "nccl-env-conf" && !made.contains("ownVolume"))
      made["ownVolume"] = oracle_own_volume(volumes[i], i);
    if (text_of(child(volumes[i], "emptyDir"), "medium") == "Memory") made["memoryVolumes"].push_back(name);
    const Json host_path = child(volumes[i], "hostPath");
    if (host_path.is_object()) made["hostPaths"].push_back({name, text_of(host_path, "path")});
  }
  for (const char* list : {"initContainers", "containers"}) {
    int index = 0;
    for (const Json& container : child(spec, list)) {
      Json entry{{"name", text_of(container, "name")},
                 {"init", std::string(list) == "initContainers"},
                 {"index", index++}};
      if (entry["init"] && entry["name"] == "nccl-env-resolve" && !made.contains("ownContainer")) {
        Json args = Json::array();
        for (const Json& word : child(container, "args")) args.push_back(word);
        made["ownContainer"] = {made["containers"].size(), text_of(container, "image"), args};
      }
      entry["hasMounts"] = child(container, "volumeMounts").is_array();
      entry["hasCompute"] = false;
      entry["alwaysPulls"] = text_of(container, "imagePullPolicy") == "Always";
      entry["limits"] = entry["requests"] = {"", "", ""};
      entry["hasEnv"] = child(container, "env").is_array();
      entry["envFrom"] = Json::array();
      for (const Json& source : child(container, "envFrom"))
        entry["envFrom"].push_back(text_of(source, "prefix"));
      std::set<std::string> resources;
      for (const char* kind : {"limits", "requests"}) {
        const Json quantities = child(child(container, "resources"), kind);
        for (const auto& [name, quantity] : quantities.items()) {
          const std::array<std::string, 3> sizes{"cpu", "memory", "ephemeral-storage"};
          const auto size = std::find(sizes.begin(), sizes.end(), name) - sizes.begin();
          if (size < 3 && quantity.is_number_integer()) {
            entry[kind][size] = std::to_string(quantity.get<std::int64_t>());
          } else if (size < 3 && quantity.is_string()) {
            entry[kind][size] = quantity;
          }
          const bool compute = name == "cpu" || name == "memory", extended = name.find('/') != name.npos;
          if (quantity.is_null() || !(compute || extended) || !oracle_positive(quantity)) continue;
          if (compute) entry["hasCompute"] = true;
          if (extended) resources.insert(name);
        }
      }
      entry["resources"] = resources;
      entry["env"] = Json::array();
      for (const Json& env : child(container, "env")) {
        const Json source = child(env, "valueFrom");
        entry["env"].push_back({text_of(env, "name"), text_of(env, "value"), source.is_object(),
                                text_of(child(source, "fieldRef"), "fieldPath")});
      }
      add_oracle_rest(container, entry);
      entry["mounts"] = Json::array();
      for (const Json& mount : child(container, "volumeMounts")) {
        const bool own = text_of(mount, "name") == "nccl-env-conf";
        entry["mounts"].push_back({text_of(mount, "name"), text_of(mount, "mountPath"),
                                   own ? text_of(mount, "subPath") : "",
                                   own && child(mount, "readOnly") == true});
      }
      made["containers"].push_back(entry);
    }
  }
  return made;
}

// nlohmann keeps keys in order of name; the comparison does not depend on the document's order.
inline Json sorted(Json summary) {
  for (const char* list : {"labels", "annotations"}) std::sort(summary[list].begin(), summary[list].end());
  return summary;
}

}  // namespace nccl_env::tests
