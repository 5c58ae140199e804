// SPDX-License-Identifier: Apache-2.0
#include "decide/conf_delivery.h"

#include <algorithm>
#include <vector>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/nccl/conf.h"
#include "nccl_env/core/nccl/variables.h"
#include "text/json_text.h"

namespace nccl_env {
namespace {

// "/etc/./x//.." -> "/etc". The kubelet takes a relative path from the root.
std::string clean_path(std::string_view path) {
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
  std::string clean;
  for (const std::string_view part : parts) clean.append("/").append(part);
  return clean.empty() ? "/" : clean;
}

// One of the two is the other, or a directory above it.
bool one_holds_the_other(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return a == "/" || (b.starts_with(a) && (b.size() == a.size() || b[a.size()] == '/'));
}

bool is_ours(const VolumeMount& mount) {
  return mount.mount_path == conf_file::kPath && mount.sub_path == conf_file::kName && mount.read_only;
}

bool is_wanted(const OwnVolume& volume, ConfVolume wanted, const std::string& annotation_key) {
  if (wanted == ConfVolume::Empty) return volume.empty_dir;
  return !volume.empty_dir && volume.item_path == conf_file::kName &&
         volume.field_path == field_path(annotation_key);
}

std::string volume_json(ConfVolume wanted, const std::string& annotation_key) {
  std::string out = "{\"name\":";
  json::append_string(out, conf_file::kVolume);
  if (wanted == ConfVolume::Empty) {
    // The file has a line for each variable: 1 MiB is more than any policy fills.
    return out += ",\"emptyDir\":{\"sizeLimit\":\"1Mi\"}}";
  }
  out += ",\"downwardAPI\":{\"items\":[{\"path\":";
  json::append_string(out, conf_file::kName);
  out += ",\"mode\":420,\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":";  // 0644
  json::append_string(out, field_path(annotation_key));
  return out += "}}]}}";
}

}  // namespace

bool conf_is_occupied(const Container& container) {
  for (const VolumeMount& mount : container.mounts) {
    if (mount.volume == conf_file::kVolume) continue;
    if (one_holds_the_other(clean_path(mount.mount_path), conf_file::kPath)) return true;
  }
  return false;
}

void plan_mounts(const Container& container, ContainerPlan& plan) {
  for (std::size_t i = 0; i < container.mounts.size(); ++i) {
    const VolumeMount& mount = container.mounts[i];
    if (mount.volume != conf_file::kVolume) continue;
    if (plan.mounts_conf && !plan.mount_present && is_ours(mount)) {
      plan.mount_present = true;
    } else {
      plan.stale_mounts.push_back(i);
    }
  }
}

ListChange plan_volume(const Pod& pod, ConfVolume wanted, const std::string& annotation_key) {
  using Kind = ListChange::Kind;
  if (!pod.own_volume) {
    if (wanted == ConfVolume::None) return {};
    return {Kind::Add, pod.volume_count, volume_json(wanted, annotation_key)};
  }
  const auto index = static_cast<std::size_t>(pod.own_volume->index);
  if (wanted == ConfVolume::None) return {Kind::Remove, index, {}};
  if (is_wanted(*pod.own_volume, wanted, annotation_key)) return {};
  return {Kind::Replace, index, volume_json(wanted, annotation_key)};
}

std::optional<Exposure> exposure_of_file(const Pod& pod) {
  if (!pod.own_volume) return std::nullopt;
  const std::string_view path = pod.own_volume->field_path;
  for (const bool host_network : {true, false}) {
    if (path == field_path(conf_key(Exposure::Host, host_network))) return Exposure::Host;
  }
  for (const Exposure exposure : {Exposure::SubInterface, Exposure::PodOwned}) {
    if (path == field_path(conf_key(exposure, false))) return exposure;
  }
  return std::nullopt;
}

namespace {

void add_text(BindingPlan& plan, Exposure exposure, bool host_network) {
  const NcclPolicy& policy = *plan.policy;
  ConfValues values = policy_constants(policy, host_network);
  // A pod that looks for itself takes nothing but constants from its node.
  const bool looks = policy.resolve == Resolve::ContainerStart;
  for (const auto& [name, value] : values_of(plan, looks ? Exposure::PodOwned : exposure).set) {
    if (host_network || name != variable::kSocketIfname) values.emplace(name, value);
  }
  // All lines or none: an index without its list could be another port's.
  const auto text = render_conf(values);
  if (text && !text->empty()) plan.annotations.emplace(conf_key(exposure, host_network), *text);
}

}  // namespace

ConfValues policy_constants(const NcclPolicy& policy, bool host_network) {
  ConfValues values;
  for (const auto& [name, value] : policy.env) {
    if (!policy.varies(name)) values.emplace(name, value);
  }
  if (policy.hca.kind == HcaRule::Kind::Literal) values.emplace(variable::kIbHca, policy.hca.literal);
  if (policy.gid_index.kind == GidIndexRule::Kind::Literal)
    values.emplace(variable::kIbGidIndex, std::to_string(policy.gid_index.literal));
  if (!host_network && policy.socket_interface.kind == SocketInterfaceRule::Kind::Literal)
    values.emplace(variable::kSocketIfname, policy.socket_interface.literal);
  return values;
}

std::string conf_key(Exposure exposure, bool host_network) {
  std::string_view prefix = key::kPodOwnedPrefix;
  if (exposure == Exposure::SubInterface) prefix = key::kSubInterfacePrefix;
  if (exposure == Exposure::Host) prefix = host_network ? key::kHostNetworkPrefix : key::kHostPrefix;
  return std::string(prefix).append(conf_file::kName);
}

void add_conf_texts(BindingPlan& plan) {
  if (!plan.policy->deliver_file) return;
  add_text(plan, Exposure::Host, true);
  add_text(plan, Exposure::Host, false);
  add_text(plan, Exposure::SubInterface, false);
  add_text(plan, Exposure::PodOwned, false);
}

}  // namespace nccl_env
