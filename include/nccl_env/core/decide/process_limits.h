// SPDX-License-Identifier: Apache-2.0
// Limits of a pod's processes that RDMA and NCCL run into, as far as the pod's spec tells them: devices,
// locked memory and /dev/shm. Admission warns of them and explain finds them, in the same words.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// "container NAME: WHAT"; "" where one of them is not there.
std::string about(const Container* container, std::string_view what);

// Volumes that bring the host's RDMA devices, and whether a container mounts one of some volumes.
std::set<std::string_view> device_volumes(const Pod& pod);
bool mounts_one_of(const Container& container, const std::set<std::string_view>& volumes);

// Each returns a sentence on the first main container of `ours` (per Pod::containers) that runs into the
// limit; "" if none does. Init containers run no collectives.
// May open no RDMA device. The device cgroup refuses device files that only a hostPath volume brings
// (kubernetes/kubernetes#5607, #137549).
std::string device_problem(const Pod& pod, const std::vector<bool>& ours);
std::string memory_lock_problem(const Pod& pod, const std::vector<bool>& ours);  // no right to lock memory
std::string shared_memory_problem(const Pod& pod, const std::vector<bool>& ours);

// Follows on a memory_lock_problem where the limit itself is not known.
inline constexpr std::string_view kUnlessLifted =
    "; unless the nodes' runtime lifts the memlock limit, memory cannot be registered for RDMA";

}  // namespace nccl_env
