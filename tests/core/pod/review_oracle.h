// SPDX-License-Identifier: Apache-2.0
// A second, slow reading of reviews: through nlohmann's tree instead of simdjson. The two must accept the
// same documents and see the same values.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env::tests {

using Json = nlohmann::json;

inline std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::string() : found->get<std::string>();
}

inline Json child(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? Json() : *found;
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
  const Json downward = child(volume, "downwardAPI");
  const Json items = downward.is_object() ? child(downward, "items") : Json();
  Json kept = Json::array();
  for (const Json& item : items) {
    const Json ref = child(item, "fieldRef");
    if (kept.size() < 8)
      kept.push_back({text_of(item, "path"), ref.is_object() ? text_of(ref, "fieldPath") : ""});
  }
  return {index, child(volume, "emptyDir").is_null() == false, kept};
}

inline bool oracle_flag(const Json& object, const char* key) {
  const Json flag = child(object, key);
  return flag.is_boolean() && flag.get<bool>();
}

inline void add_oracle_rest(const Json& container, Json& entry) {
  const Json security = child(container, "securityContext");
  const Json capabilities = security.is_object() ? child(security, "capabilities") : Json();
  const Json added = capabilities.is_object() ? child(capabilities, "add") : Json();
  entry["privileged"] = security.is_object() && child(security, "privileged") == true;
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
  entry["claims"] = Json::array();
  const Json resources = child(container, "resources");
  if (!resources.is_object()) return;
  for (const Json& use : child(resources, "claims"))
    entry["claims"].push_back({text_of(use, "name"), text_of(use, "request")});
}

// The same from nlohmann's tree of the pod object. Precondition: simdjson accepted it.
inline Json oracle_summary(const Json& object) {
  const Json metadata = child(object, "metadata");
  const Json spec = child(object, "spec");
  const auto field = [](const Json& of, const char* key) {
    return of.is_object() ? text_of(of, key) : std::string();
  };
  Json made{{"name", field(metadata, "name")},
            {"generateName", field(metadata, "generateName")},
            {"uid", field(metadata, "uid")},
            {"node", field(spec, "nodeName")},
            {"hasMetadata", metadata.is_object()}};
  const auto pairs = [](const Json& map) {
    Json list = Json::array();
    for (const auto& [key, value] : map.items())
      list.push_back({key, value.is_null() ? "" : value.get<std::string>()});
    return list;
  };
  const Json network = spec.is_object() ? child(spec, "hostNetwork") : Json();
  made["hostNetwork"] = network.is_boolean() && network.get<bool>();
  const Json annotations = metadata.is_object() ? child(metadata, "annotations") : Json();
  made["hasAnnotations"] = annotations.is_object();
  made["labels"] = pairs(metadata.is_object() ? child(metadata, "labels") : Json());
  made["annotations"] = pairs(annotations);
  for (const char* list : {"hostPaths", "memoryVolumes", "claims", "containers"}) made[list] = Json::array();
  made["hostIpc"] = spec.is_object() && child(spec, "hostIPC") == true;
  made["runsAsRoot"] = made["hasResources"] = made["hasInit"] = false;
  made["volumes"] = Json();
  if (!spec.is_object()) return made;
  const Json security = child(spec, "securityContext");
  made["runsAsRoot"] = security.is_object() && child(security, "runAsUser") == 0;
  made["hasResources"] = !child(spec, "resources").is_null();
  made["hasInit"] = child(spec, "initContainers").is_array();
  const Json volumes = child(spec, "volumes");
  if (volumes.is_array()) made["volumes"] = volumes.size();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (text_of(volumes[i], "name") == "nccl-env-conf" && !made.contains("ownVolume"))
      made["ownVolume"] = oracle_own_volume(volumes[i], i);
  }
  for (const Json& claim : child(spec, "resourceClaims")) {
    made["claims"].push_back({text_of(claim, "name"), text_of(claim, "resourceClaimName"),
                              text_of(claim, "resourceClaimTemplateName")});
  }
  for (const Json& volume : volumes) {
    const Json empty_dir = child(volume, "emptyDir");
    if (empty_dir.is_object() && text_of(empty_dir, "medium") == "Memory")
      made["memoryVolumes"].push_back(text_of(volume, "name"));
    const Json host_path = child(volume, "hostPath");
    if (host_path.is_object())
      made["hostPaths"].push_back({text_of(volume, "name"), text_of(host_path, "path")});
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
      const Json wanted = child(container, "resources");
      for (const char* kind : {"limits", "requests"}) {
        if (!wanted.is_object()) continue;
        const Json quantities = child(wanted, kind);
        for (const auto& [name, quantity] : quantities.items()) {
          const std::array<std::string, 3> sizes{"cpu", "memory", "ephemeral-storage"};
          const auto size = std::find(sizes.begin(), sizes.end(), name) - sizes.begin();
          if (size < 3 && quantity.is_number_integer()) {
            entry[kind][size] = std::to_string(quantity.get<std::int64_t>());
          } else if (size < 3 && quantity.is_string()) {
            entry[kind][size] = quantity;
          }
          if ((name == "cpu" || name == "memory") && !quantity.is_null() && oracle_positive(quantity))
            entry["hasCompute"] = true;
          if (name.find('/') != std::string::npos && !quantity.is_null() && oracle_positive(quantity))
            resources.insert(name);
        }
      }
      entry["resources"] = resources;
      entry["env"] = Json::array();
      for (const Json& env : child(container, "env")) {
        const Json source = child(env, "valueFrom");
        const Json ref = source.is_object() ? child(source, "fieldRef") : Json();
        entry["env"].push_back({text_of(env, "name"), text_of(env, "value"), source.is_object(),
                                ref.is_object() ? text_of(ref, "fieldPath") : ""});
      }
      add_oracle_rest(container, entry);
      entry["mounts"] = Json::array();
      for (const Json& mount : child(container, "volumeMounts")) {
        const bool own = text_of(mount, "name") == "nccl-env-conf";
        entry["mounts"].push_back({text_of(mount, "name"), text_of(mount, "mountPath"),
                                   own ? text_of(mount, "subPath") : "",
                                   own && oracle_flag(mount, "readOnly")});
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
