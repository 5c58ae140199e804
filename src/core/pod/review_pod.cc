// SPDX-License-Identifier: Apache-2.0
#include "pod/review_pod.h"

#include <algorithm>

#include "nccl_env/core/nccl/conf_file.h"
#include "pod/fields.h"

namespace nccl_env {

using json::each_field;
using json::each_item;
using json::Element;
using json::Failure;
using json::Path;
using json::pick;

namespace {

using Keys = std::string_view;

// More than any container has; keeps the check for repeats from going quadratic on hostile input.
constexpr std::size_t kMaxResources = 256;

// A Kubernetes quantity above zero. "0", "0k" and "0.0" are not requested; a number counts as it is.
bool is_positive(Element value, const Path& path, Failure& failure) {
  double number = 0;
  if (value.is_number()) return value.get(number) == simdjson::SUCCESS && number > 0;
  const std::string_view quantity = json::text(value, path, failure);
  if (quantity.starts_with('-')) return false;
  const std::string_view digits = quantity.substr(0, quantity.find_first_not_of("+.0123456789"));
  return digits.find_first_of("123456789") != std::string_view::npos;
}

// The API server sends strings. People also write numbers; a fraction among these is not kept.
void take_quantity(Element value, const Path& path, std::string& into, Failure& failure) {
  std::int64_t number = 0;
  if (!value.is_number()) {
    into = json::text(value, path, failure);
  } else if (value.get(number) == simdjson::SUCCESS) {
    into = std::to_string(number);
  }
}

std::string* member_of(Compute& compute, std::string_view name) {
  if (name == "cpu") return &compute.cpu;
  if (name == "memory") return &compute.memory;
  return name == "ephemeral-storage" ? &compute.ephemeral_storage : nullptr;
}

void read_resources(std::optional<Element> list, const Path& path, Compute& compute, Container& container,
                    Failure& failure) {
  each_field(list, path, failure, [&](std::string_view name, Element quantity, const Path& here) {
    if (quantity.is_null()) return;
    if (std::string* member = member_of(compute, name)) {
      const bool some = is_positive(quantity, here, failure);
      container.has_compute = container.has_compute || (some && name != "ephemeral-storage");
      return take_quantity(quantity, here, *member, failure);
    }
    if (name.find('/') == std::string_view::npos) return;
    if (!is_positive(quantity, here, failure)) return;
    auto& known = container.resources;
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    if (known.size() == kMaxResources) return failure.set(here, "too many resources");
    known.push_back(name);
  });
}

void read_env_entry(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [name, value, source] =
      pick(item, path, std::array<Keys, 3>{"name", "value", "valueFrom"}, failure);
  EnvEntry& entry = container.env.emplace_back();  // in place: copied right after it is written, it stalls
  entry.name = json::text(name, path.field("name"), failure);
  entry.value = json::text(value, path.field("value"), failure);
  entry.has_source = source.has_value();
  if (source) {
    const Path at = path.field("valueFrom");
    const auto [field] = pick(*source, at, std::array<Keys, 1>{"fieldRef"}, failure);
    if (field) {
      const Path ref = at.field("fieldRef");
      const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, failure);
      entry.field_path = json::text(field_path, ref.field("fieldPath"), failure);
    }
  }
}

void read_env_from(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [prefix] = pick(item, path, std::array<Keys, 1>{"prefix"}, failure);
  container.env_from_prefixes.push_back(json::text(prefix, path.field("prefix"), failure));
}

void read_mount(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [name, mount] = pick(item, path, std::array<Keys, 2>{"name", "mountPath"}, failure);
  VolumeMount& entry = container.mounts.emplace_back();
  entry.volume = json::text(name, path.field("name"), failure);
  entry.mount_path = json::text(mount, path.field("mountPath"), failure);
  if (entry.volume != conf_file::kVolume) return;
  const auto [sub_path, read_only] = pick(item, path, std::array<Keys, 2>{"subPath", "readOnly"}, failure);
  entry.sub_path = json::text(sub_path, path.field("subPath"), failure);
  entry.read_only = json::boolean(read_only, path.field("readOnly"), failure);
}

Container read_container(Element item, const Path& path, ContainerKind kind, Failure& failure) {
  Container container;
  container.kind = kind;
  container.index = path.index;
  const auto [name, env, env_from, resources, mounts, command, args, security, pull] =
      pick(item, path,
           std::array<Keys, 9>{"name", "env", "envFrom", "resources", "volumeMounts", "command", "args",
                               "securityContext", "imagePullPolicy"},
           failure);
  container.always_pulls = json::text(pull, path.field("imagePullPolicy"), failure) == "Always";
  container.name = json::text(name, path.field("name"), failure);
  container.has_env = env.has_value();
  container.env.reserve(json::items_to_reserve(env));
  each_item(env, path.field("env"), failure,
            [&](Element entry, const Path& here) { read_env_entry(entry, here, container, failure); });
  each_item(env_from, path.field("envFrom"), failure,
            [&](Element entry, const Path& here) { read_env_from(entry, here, container, failure); });
  container.has_mounts = mounts.has_value();
  container.mounts.reserve(json::items_to_reserve(mounts));
  each_item(mounts, path.field("volumeMounts"), failure,
            [&](Element entry, const Path& here) { read_mount(entry, here, container, failure); });
  if (resources) {
    const Path at = path.field("resources");
    const auto [limits, requests, claims] =
        pick(*resources, at, std::array<Keys, 3>{"limits", "requests", "claims"}, failure);
    read_resources(limits, at.field("limits"), container.limits, container, failure);
    read_resources(requests, at.field("requests"), container.requests, container, failure);
    read_claim_uses(claims, at.field("claims"), container, failure);
  }
  if (security) read_security(*security, path.field("securityContext"), container, failure);
  const Path at_command = path.field("command"), at_args = path.field("args");
  read_arguments({{{command, at_command}, {args, at_args}}}, container, failure);
  return container;
}

// One item that is a fieldRef, or nothing of it is kept: any other is not as we write it.
void read_downward_items(Element source, const Path& path, OwnVolume& volume, Failure& failure) {
  const auto [items] = pick(source, path, std::array<Keys, 1>{"items"}, failure);
  const Path at = path.field("items");
  int count = 0;
  each_item(items, at, failure, [&](Element item, const Path& here) {
    const auto [file, field] = pick(item, here, std::array<Keys, 2>{"path", "fieldRef"}, failure);
    volume.item_path = json::text(file, here.field("path"), failure);
    if (++count > 1 || !field) return void(volume.field_path = {});
    const Path ref = here.field("fieldRef");
    const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, failure);
    volume.field_path = json::text(field_path, ref.field("fieldPath"), failure);
  });
}

void read_own_volume(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [empty_dir, downward] =
      pick(item, path, std::array<Keys, 2>{"emptyDir", "downwardAPI"}, failure);
  OwnVolume volume;
  volume.index = path.index;
  volume.empty_dir = empty_dir.has_value();
  if (downward) read_downward_items(*downward, path.field("downwardAPI"), volume, failure);
  if (!pod.own_volume) pod.own_volume = volume;
}

void read_volume(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [name, host_path, empty_dir] =
      pick(item, path, std::array<Keys, 3>{"name", "hostPath", "emptyDir"}, failure);
  if (empty_dir) {
    read_empty_dir(json::text(name, path.field("name"), failure), *empty_dir, path.field("emptyDir"), pod,
                   failure);
  }
  if (name && json::text(name, path.field("name"), failure) == conf_file::kVolume)
    read_own_volume(item, path, pod, failure);
  if (!host_path) return;
  const Path at = path.field("hostPath");
  const auto [where] = pick(*host_path, at, std::array<Keys, 1>{"path"}, failure);
  pod.host_paths.push_back(
      {json::text(name, path.field("name"), failure), json::text(where, at.field("path"), failure)});
}

void read_own_container(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [image, args] = pick(item, path, std::array<Keys, 2>{"image", "args"}, failure);
  OwnContainer container;
  container.position = pod.containers.size();
  container.image = json::text(image, path.field("image"), failure);
  each_item(args, path.field("args"), failure, [&](Element word, const Path& here) {
    container.args.push_back(json::text(word, here, failure));
  });
  if (!pod.own_container) pod.own_container = std::move(container);
}

bool is_root(Element security_context, const Path& path, Failure& failure) {
  const auto [user] = pick(security_context, path, std::array<Keys, 1>{"runAsUser"}, failure);
  std::int64_t number = -1;
  if (user && user->get(number) != simdjson::SUCCESS)
    failure.set(path.field("runAsUser"), "must be an integer");
  return number == 0;
}

void read_spec(Element spec, const Path& path, Pod& pod, Failure& failure) {
  const auto [node, host_network, host_ipc, volumes, claims, init, main, security, resources] =
      pick(spec, path,
           std::array<Keys, 9>{"nodeName", "hostNetwork", "hostIPC", "volumes", "resourceClaims",
                               "initContainers", "containers", "securityContext", "resources"},
           failure);
  if (security) pod.runs_as_root = is_root(*security, path.field("securityContext"), failure);
  pod.has_resources = resources.has_value();
  pod.has_volumes = volumes.has_value();
  pod.has_init = init.has_value();
  pod.node_name = json::text(node, path.field("nodeName"), failure);
  pod.host_network = json::boolean(host_network, path.field("hostNetwork"), failure);
  pod.host_ipc = json::boolean(host_ipc, path.field("hostIPC"), failure);
  each_item(volumes, path.field("volumes"), failure, [&](Element item, const Path& here) {
    read_volume(item, here, pod, failure);
    ++pod.volume_count;
  });
  read_pod_claims(claims, path.field("resourceClaims"), pod, failure);
  pod.containers.reserve(json::items_to_reserve(init) + json::items_to_reserve(main));
  each_item(init, path.field("initContainers"), failure, [&](Element item, const Path& here) {
    Container container = read_container(item, here, ContainerKind::Init, failure);
    if (container.name == conf_file::kResolver) read_own_container(item, here, pod, failure);
    pod.containers.push_back(std::move(container));
  });
  each_item(main, path.field("containers"), failure, [&](Element item, const Path& here) {
    pod.containers.push_back(read_container(item, here, ContainerKind::Main, failure));
  });
}

}  // namespace

void read_strings(std::optional<Element> map, const Path& path,
                  std::vector<std::pair<std::string_view, std::string_view>>& into, Failure& failure) {
  into.reserve(json::fields_to_reserve(map));
  each_field(map, path, failure, [&](std::string_view name, Element value, const Path& here) {
    const bool ours = name.find("nccl-env.io/") != std::string_view::npos;
    const auto same = [&](const auto& entry) { return entry.first == name; };
    if (ours && std::any_of(into.begin(), into.end(), same)) return failure.set(here, "stands twice");
    if (value.is_null()) return void(into.emplace_back(name, std::string_view()));
    into.emplace_back(name, json::text(value, here, failure));
  });
}

Pod read_pod(Element object, const Path& path, Failure& failure) {
  Pod pod;
  const auto [metadata, spec] = pick(object, path, std::array<Keys, 2>{"metadata", "spec"}, failure);
  if (metadata) {
    pod.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [name, generate, name_space, uid, labels, annotations] = pick(
        *metadata, at,
        std::array<Keys, 6>{"name", "generateName", "namespace", "uid", "labels", "annotations"}, failure);
    pod.name = json::text(name, at.field("name"), failure);
    pod.name_space = json::text(name_space, at.field("namespace"), failure);
    pod.generate_name = json::text(generate, at.field("generateName"), failure);
    pod.uid = json::text(uid, at.field("uid"), failure);
    pod.has_annotations = annotations.has_value();
    read_strings(labels, at.field("labels"), pod.labels, failure);
    read_strings(annotations, at.field("annotations"), pod.annotations, failure);
  }
  if (spec) read_spec(*spec, path.field("spec"), pod, failure);
  return pod;
}

}  // namespace nccl_env
