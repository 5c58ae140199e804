// SPDX-License-Identifier: Apache-2.0
#include "decide/conf_delivery.h"

#include <algorithm>
#include <array>

#include "command/command.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/json_text.h"

namespace nccl_env {
namespace {

constexpr std::array<std::string_view, 2> kInHome{"/.nccl.conf", "/.rccl.conf"};
constexpr std::array kFiles{conf_file::kPaths[0], conf_file::kPaths[1], kInHome[0], kInHome[1]};

// "/etc/./x//.." -> "/etc". The kubelet takes a relative path from the root. Nearly every path is clean
// already; `room` holds the clean form of one that may not be.
std::string_view clean_path(std::string_view path, std::string& room) {
  path = without_trailing_slashes(path);
  if (path.starts_with('/') && path.find("/.") == path.npos && path.find("//") == path.npos) return path;
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  room.clear();
  for (const std::string_view part : parts) room.append("/").append(part);
  return room.empty() ? "/" : std::string_view(room);
}

// True if `path` is `directory` or below it.
bool holds(std::string_view directory, std::string_view path) {
  return directory == "/" ||
         (path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/'));
}

bool is_wanted(const OwnVolume& volume, ConfVolume wanted, const FileKeys& files) {
  if (wanted == ConfVolume::Empty) return volume.empty_dir;
  return !volume.empty_dir && std::equal(files.begin(), files.end(), volume.items.begin(), volume.items.end(),
                                         [](const auto& file, const VolumeItem& item) {
                                           return item.path == file.first &&
                                                  item.field_path == field_path(file.second);
                                         });
}

std::string volume_json(ConfVolume wanted, const FileKeys& files) {
  std::string out;
  out.reserve(256);  // of two files
  out += "{\"name\":";
  json::append_string(out, conf_file::kVolume);
  if (wanted == ConfVolume::Empty) {
    // The file has a line for each variable: 1 MiB is more than any policy fills.
    // In memory it keeps no node from being drained, and needs no room on a disk.
    return out += ",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"}}";
  }
  out += ",\"downwardAPI\":{\"items\":[";
  for (const auto& [name, key] : files) {
    out += out.back() == '[' ? "{\"path\":" : ",{\"path\":";
    json::append_string(out, name);
    out += ",\"mode\":420,\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":";  // 0644
    json::append_string(out, field_path(key));
    out += "}}";
  }
  return out += "]}}";
}

}  // namespace

bool conf_is_occupied(const Container& container, std::span<const std::string_view> places) {
  std::string room;
  if (!written_of(container, places).empty()) return true;
  return std::any_of(container.mounts.begin(), container.mounts.end(), [&](const VolumeMount& mount) {
    if (mount.volume == conf_file::kVolume) return false;
    const std::string_view path = clean_path(mount.mount_path, room);
    return std::any_of(places.begin(), places.end(),
                       [&](std::string_view place) { return holds(path, place) || holds(place, path); });
  });
}

std::string_view users_conf(const Container& container) {
  std::string room;
  for (const VolumeMount& mount : container.mounts) {
    if (mount.volume == conf_file::kVolume) continue;
    const std::string_view path = clean_path(mount.mount_path, room);
    const bool in_home = path.ends_with(kInHome[0]) || path.ends_with(kInHome[1]);
    const auto is_above = [&](std::string_view place) { return holds(path, place); };
    if (in_home || std::any_of(conf_file::kPaths.begin(), conf_file::kPaths.end(), is_above))
      return prefix_of(mount.mount_path, 128);
  }
  return written_of(container, kFiles);
}

void plan_mounts(const Container& container, ContainerPlan& plan) {
  const auto& places = plan.names_conf ? conf_file::kNamedPaths : conf_file::kPaths;
  if (plan.mounts_conf) {
    plan.missing_mounts.reserve(places.size() + plan.engine_files.size());
    for (const std::string_view place : places)
      plan.missing_mounts.push_back({std::string(place), conf_file::kName});
  }
  for (const Engine* engine : plan.engine_files)
    plan.missing_mounts.push_back({place_of(*engine), engine->file});
  for (std::size_t i = 0; i < container.mounts.size(); ++i) {
    const VolumeMount& mount = container.mounts[i];
    if (mount.volume != conf_file::kVolume) continue;
    const FileMount found{std::string(mount.mount_path), mount.sub_path};
    if (!mount.read_only || std::erase(plan.missing_mounts, found) == 0) plan.stale_mounts.push_back(i);
  }
}

std::string place_of(const Engine& engine) {
  return std::string(conf_file::kFolder) + "/" + std::string(engine.file);
}

ListChange plan_volume(const Pod& pod, ConfVolume wanted, const FileKeys& files) {
  using Kind = ListChange::Kind;
  if (!pod.own_volume) {
    if (wanted == ConfVolume::None) return {};
    return {Kind::Add, pod.volume_count, volume_json(wanted, files)};
  }
  const auto index = static_cast<std::size_t>(pod.own_volume->index);
  if (wanted == ConfVolume::None) return {Kind::Remove, index, {}};
  if (is_wanted(*pod.own_volume, wanted, files)) return {};
  return {Kind::Replace, index, volume_json(wanted, files)};
}

std::vector<std::string> env_entries(const ContainerPlan& plan) {
  std::vector<std::string> entries;
  for (const Value& planned : plan.set) {
    if (!planned.in_env || planned.state == State::Present) continue;
    std::string& out = entries.emplace_back("{\"name\":");
    json::append_string(out, planned.name);
    out +=
        planned.source == Source::Policy ? ",\"value\":" : ",\"valueFrom\":{\"fileKeyRef\":{\"volumeName\":";
    json::append_string(out, planned.source == Source::Policy ? *planned.value : conf_file::kVolume);
    if (planned.source != Source::Policy) {
      json::append_string(out += ",\"path\":", conf_file::kEnvName);
      json::append_string(out += ",\"key\":", planned.name);
      out += ",\"optional\":true}}";
    }
    out += '}';
  }
  return entries;
}

ConfValues policy_constants(const NcclPolicy& policy, bool host_network) {
  ConfValues values;
  for (const auto& [name, value] : policy.env) {
    if (!policy.varies(name)) values.emplace(name, value);
  }
  if (policy.hca.kind == HcaRule::Kind::Literal) values.emplace(variable::kIbHca, policy.hca.literal);
  if (policy.gid_index.kind == GidIndexRule::Kind::Literal)
    values.emplace(variable::kIbGidIndex, std::to_string(policy.gid_index.literal));
  const bool literal = policy.socket_interface.kind == SocketInterfaceRule::Kind::Literal;
  if (!host_network && literal && !policy.varies_socket_interface())
    values.emplace(variable::kSocketIfname, policy.socket_interface.literal);
  return values;
}

}  // namespace nccl_env
