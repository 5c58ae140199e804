// SPDX-License-Identifier: Apache-2.0
#include "pod_match.h"

#include <algorithm>

#include "nccl_env/core/decide.h"
#include "nccl_env/core/known_resources.h"

namespace nccl_env {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

PodMatch skip(Reason reason, std::string detail) {
  PodMatch match;
  match.skip = reason;
  match.detail = std::move(detail);
  return match;
}

// The label beats the annotation, but "false" in either beats "true" in the other.
std::optional<std::string_view> inject_value(const Pod& pod) {
  const auto label = pod.label(key::kInject);
  const auto annotation = pod.annotation(key::kInject);
  if (label == "false" || annotation == "false") return "false";
  return label ? label : annotation;
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool mounts_device(const Pod& pod, const Container& container) {
  for (const HostPathVolume& volume : pod.host_paths) {
    const std::string_view path = without_trailing_slashes(volume.path);
    if (path != "/dev" && path != "/dev/infiniband" && !path.starts_with("/dev/infiniband/")) continue;
    const auto uses = [&](const VolumeMount& mount) { return mount.volume == volume.name; };
    if (std::any_of(container.mounts.begin(), container.mounts.end(), uses)) return true;
  }
  return false;
}

const std::string_view* skipped_resource(const Pod& pod, const NcclPolicy& policy) {
  for (const Container& container : pod.containers) {
    for (const std::string_view& resource : container.resources) {
      for (const std::string& glob : policy.skip_resources) {
        if (is_extended_resource(resource) && glob_matches(glob, resource)) return &resource;
      }
    }
  }
  return nullptr;
}

// What a container that requests `resource` sees; nothing if the policy does not match it.
std::optional<Exposure> matched_exposure(std::string_view resource, const NcclPolicy& policy) {
  if (!is_extended_resource(resource)) return std::nullopt;
  for (const ResourceMatch& entry : policy.resources) {
    if (!glob_matches(entry.name, resource)) continue;
    if (entry.exposure) return entry.exposure;
    return known_exposure(resource).value_or(Exposure::PodOwned);
  }
  return std::nullopt;
}

}  // namespace

PodMatch match_pod(const Pod& pod, const NcclPolicy& policy) {
  if (pod.annotation(kMirror)) return skip(Reason::MirrorPod, "The pod mirrors a static pod of the kubelet.");
  if (const std::string_view* resource = skipped_resource(pod, policy)) {
    return skip(Reason::NotVerbs,
                "The pod requests " + std::string(*resource) + ", which NCCL does not reach through verbs.");
  }
  const auto inject = inject_value(pod);
  if (inject == "false") return skip(Reason::OptedOut, "The pod says nccl-env.io/inject: \"false\".");
  if (inject && inject != "true") {
    return skip(Reason::InvalidInjectValue, "nccl-env.io/inject must be \"true\" or \"false\".");
  }

  PodMatch match;
  match.in_scope.resize(pod.containers.size());
  std::optional<Exposure> exposure;
  bool any = false;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Container& container = pod.containers[i];
    bool requests = policy.host_devices && pod.host_network && mounts_device(pod, container);
    for (const std::string_view resource : container.resources) {
      const auto seen = matched_exposure(resource, policy);
      if (!seen) continue;
      requests = true;
      exposure = std::max(exposure.value_or(*seen), *seen);  // several: the one of which least is known
    }
    match.in_scope[i] = requests;
    any = any || requests;
  }
  if (!any && inject != "true") {
    return skip(Reason::NotRdma, "No container requests a resource or mounts a device that policy " +
                                     policy.name + " matches.");
  }
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    if (policy.containers == ContainerScope::All) match.in_scope[i] = true;
    if (!any && pod.containers[i].kind == ContainerKind::Main) match.in_scope[i] = true;
  }
  match.exposure = pod.host_network ? Exposure::Host : exposure.value_or(Exposure::PodOwned);
  return match;
}

}  // namespace nccl_env
