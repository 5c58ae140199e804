// SPDX-License-Identifier: Apache-2.0
#include "decide/warnings.h"

#include <algorithm>
#include <set>

#include "decide/launcher.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// NCCL's own advice for containers (NCCL user guide, "Troubleshooting": docker run --shm-size=1g --ulimit
// memlock=-1). A runtime gives 64 MiB where nothing is mounted.
constexpr double kSharedMemory = 1024.0 * 1024 * 1024;

std::string about(const Container& container, std::string_view what) {
  std::string text("nccl-env: container ");
  return text.append(prefix_of(container.name, 63)).append(": ").append(what);
}

// True if nothing brings the container a device: it asks for none, and on the host's network no secondary
// network does.
bool lacks_device(const Pod& pod, const Container& container, bool has_device) {
  return pod.host_network && !has_device && !container.privileged;
}

using Names = std::set<std::string_view>;

// Volumes in memory that are known to be small.
Names small_volumes(const Pod& pod) {
  Names names;
  for (const MemoryVolume& volume : pod.memory_volumes) {
    if (volume.size_limit && *volume.size_limit < kSharedMemory) names.insert(volume.name);
  }
  return names;
}

// Any mount there is the user's choice unless it is known to be small.
std::string_view shared_memory_problem(const Container& container, const Names& small) {
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

void add_skip_warnings(const Pod& pod, const NcclPolicy& policy, const PodMatch& match,
                       std::vector<std::string>& warnings) {
  if (match.skip == Reason::InvalidInjectValue || match.skip == Reason::ClaimUnknown)
    warnings.push_back("nccl-env: " + match.detail + " Nothing was injected.");
  if (match.skip != Reason::NotRdma || policy.mode == PolicyMode::DryRun) return;
  if (auto warning = launcher_warning(pod, policy)) warnings.push_back(std::move(*warning));
}

void add_pod_warnings(const Pod& pod, const PodMatch& match, std::vector<std::string>& warnings) {
  // Init containers run no collectives.
  const auto first = [&](auto concerns) -> const Container* {
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      const Container& container = pod.containers[i];
      if (match.in_scope[i] && container.kind == ContainerKind::Main && concerns(container, i))
        return &container;
    }
    return nullptr;
  };
  if (!match.problem.empty()) warnings.push_back("nccl-env: " + match.problem);
  if (match.lacks_network) warnings.push_back("nccl-env: " + match.rails_unknown);
  const auto no_device = [&](const Container& container, std::size_t i) {
    return lacks_device(pod, container, match.has_device[i]);
  };
  if (const Container* container = first(no_device)) {
    warnings.push_back(about(*container,
                             "nothing gives it an RDMA device: it requests no such resource, mounts no "
                             "/dev/infiniband and is not privileged"));
  }
  const Names small = small_volumes(pod);
  const auto small_memory = [&](const Container& container, std::size_t) {
    return !pod.host_ipc && !shared_memory_problem(container, small).empty();
  };
  if (const Container* container = first(small_memory))
    warnings.push_back(about(*container, shared_memory_problem(*container, small)));
  const auto no_lock = [](const Container& container, std::size_t) {
    return !container.privileged && !container.locks_memory;
  };
  if (const Container* container = first(no_lock)) {
    warnings.push_back(about(*container,
                             "has no capability IPC_LOCK; unless the nodes' runtime lifts the memlock limit, "
                             "memory cannot be registered for RDMA"));
  }
}

}  // namespace nccl_env
