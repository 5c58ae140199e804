// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/process_limits.h"

#include <algorithm>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// NCCL's own advice for containers (NCCL user guide, "Troubleshooting": docker run --shm-size=1g --ulimit
// memlock=-1). A runtime gives 64 MiB where nothing is mounted.
constexpr double kSharedMemory = 1024.0 * 1024 * 1024;

using Names = std::set<std::string_view>;

template <class Problem>
std::string first_problem(const Pod& pod, const std::vector<bool>& ours, Problem problem) {
  for (std::size_t i = 0; i < std::min(pod.containers.size(), ours.size()); ++i) {
    const Container& container = pod.containers[i];
    if (!ours[i] || container.kind != ContainerKind::Main) continue;
    if (std::string text = about(&container, problem(container)); !text.empty()) return text;
  }
  return {};
}

// True where the spec names a way to devices that is not judged: a resource or claim that may bring one, or a
// runtime that is asked for them.
bool may_bring_device(const Pod& pod, const Container& container) {
  const auto is_no_gpu = [](std::string_view resource) {
    return resource.find("gpu") == std::string_view::npos && resource.find("/mig-") == std::string_view::npos;
  };
  const auto asks_cdi = [](const Annotation& annotation) {
    return annotation.first.starts_with("cdi.k8s.io/");
  };
  const auto asks_nvidia = [](const EnvEntry& entry) { return entry.name == "NVIDIA_MOFED"; };
  return container.privileged || !container.claims.empty() ||
         std::ranges::any_of(container.resources, is_no_gpu) ||
         std::ranges::any_of(container.env, asks_nvidia) || std::ranges::any_of(pod.annotations, asks_cdi);
}

// Volumes in memory that are known to be small.
Names small_volumes(const Pod& pod) {
  Names names;
  for (const MemoryVolume& volume : pod.memory_volumes) {
    if (volume.size_limit && *volume.size_limit < kSharedMemory) names.insert(volume.name);
  }
  return names;
}

// Any mount there is the user's choice unless it is known to be small.
std::string_view shared_memory_of(const Container& container, const Names& small) {
  const auto mount =
      std::find_if(container.mounts.begin(), container.mounts.end(), [](const VolumeMount& candidate) {
        return without_trailing_slashes(candidate.mount_path) == "/dev/shm";
      });
  if (mount == container.mounts.end()) {
    return "mounts nothing at /dev/shm, where runtimes give 64 MiB; NCCL and data loaders may need more: "
           "mount an emptyDir with medium Memory there";
  }
  if (small.contains(mount->volume))
    return "its /dev/shm has a sizeLimit below 1Gi; NCCL and data loaders may need more";
  return {};
}

}  // namespace

std::string about(const Container* container, std::string_view what) {
  if (!container || what.empty()) return {};
  return "container " + std::string(prefix_of(container->name, 63)).append(": ").append(what);
}

Names device_volumes(const Pod& pod) {
  Names names;
  for (const HostPathVolume& volume : pod.host_paths) {
    const std::string_view path = without_trailing_slashes(volume.path);
    if (path == "/dev" || path == "/dev/infiniband" || path.starts_with("/dev/infiniband/"))
      names.insert(volume.name);
  }
  return names;
}

bool mounts_one_of(const Container& container, const Names& volumes) {
  return std::ranges::any_of(container.mounts,
                             [&](const VolumeMount& mount) { return volumes.contains(mount.volume); });
}

std::string device_problem(const Pod& pod, const std::vector<bool>& ours) {
  const Names volumes = device_volumes(pod);
  bool brought = false;  // to one of them: the others may be its helpers
  for (std::size_t i = 0; i < std::min(pod.containers.size(), ours.size()); ++i) {
    const Container& container = pod.containers[i];
    brought =
        brought || (ours[i] && container.kind == ContainerKind::Main && may_bring_device(pod, container));
  }
  if (brought) return {};
  return first_problem(pod, ours, [&](const Container& container) -> std::string_view {
    if (mounts_one_of(container, volumes)) {
      return "mounts the host's /dev/infiniband, but is not privileged and requests no RDMA resource: it may "
             "open no device there (Operation not permitted)";
    }
    // A network of its own may bring a device.
    return pod.host_network ? "nothing gives it an RDMA device: it requests no such resource, mounts no "
                              "/dev/infiniband and is not privileged"
                            : "";
  });
}

std::string memory_lock_problem(const Pod& pod, const std::vector<bool>& ours) {
  return first_problem(pod, ours, [](const Container& container) -> std::string_view {
    const bool asks = container.privileged || container.locks_memory;
    if (!asks) return "has no capability IPC_LOCK";
    // Added capabilities are not ambient, so exec drops them for a user that is not root.
    return container.is_non_root ? "does not run as root, so that capability IPC_LOCK is not effective" : "";
  });
}

std::string shared_memory_problem(const Pod& pod, const std::vector<bool>& ours) {
  if (pod.host_ipc) return {};
  const Names small = small_volumes(pod);
  return first_problem(pod, ours,
                       [&](const Container& container) { return shared_memory_of(container, small); });
}

}  // namespace nccl_env
