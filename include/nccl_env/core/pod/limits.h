// SPDX-License-Identifier: Apache-2.0
// Limits of what is read of a pod or a Binding. Mutating hooks run before the API server validates, so a
// tenant's object may hold 3 MB of anything. An object beyond these limits is left alone (BudgetExceeded),
// and the code that decides may rely on them. No pod that runs comes near them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nccl_env {

// Most bytes of annotations that Kubernetes accepts on a pod (apimachinery, ValidateAnnotationsSize). With
// more, every later update of the pod fails, also the kubelet's updates of its status.
inline constexpr std::size_t kMaxAnnotationBytes = 256u << 10;
// Names of objects, containers, volumes and claims: a DNS subdomain at most, which no name of Kubernetes
// exceeds.
inline constexpr std::size_t kMaxNameBytes = 253;
// PATH_MAX of Linux: nothing can be mounted at a longer path.
inline constexpr std::size_t kMaxPathBytes = 4096;
// Size of the largest review that is read whole: etcd takes 1.5 MiB by default, so that no larger object is
// ever stored. The tree of a document takes 14 times its bytes.
inline constexpr std::size_t kMaxWholeReview = 3u << 19;

// Counted over all of an object.
enum class Part : std::uint8_t {
  AnnotationBytes,
  Annotations,
  Labels,
  OwnKeys,
  Containers,
  EnvEntries,
  EnvSources,
  Mounts,
  Volumes,
  Claims,
  ClaimUses,
  Resources,
  Words
};

struct Limit {
  Part part;
  std::size_t most;
  std::string_view name;  // "256 containers": of the sentence that tells which limit is exceeded
};

inline constexpr std::array kLimits{
    Limit{Part::AnnotationBytes, kMaxAnnotationBytes, "262144 bytes of annotations"},  // Kubernetes' own
    // Pods of service meshes and Multus have a few dozen; 256 KiB of empty ones would be 40 000.
    Limit{Part::Annotations, 4096, "4096 annotations"},
    Limit{Part::Labels, 4096, "4096 labels"},
    // Labels and annotations with nccl-env.io/ in their key: we write 16.
    Limit{Part::OwnKeys, 64, "64 labels and annotations of nccl-env.io"},
    // More than the pods that a kubelet starts by default, 110.
    Limit{Part::Containers, 256, "256 containers"},
    Limit{Part::EnvEntries, 4096, "4096 env entries"},  // 16 for each of those
    Limit{Part::EnvSources, 1024, "1024 envFrom entries"},
    Limit{Part::Mounts, 4096, "4096 volume mounts"},
    Limit{Part::Volumes, 1024, "1024 volumes"},
    // DRA takes 32 requests a claim, and a node has a few dozen devices.
    Limit{Part::Claims, 256, "256 resource claims"},
    Limit{Part::ClaimUses, 512, "512 uses of claims"},
    // In limits and in requests: 512 names that stand in both.
    Limit{Part::Resources, 1024, "1024 entries of extended resources"},
    // In commands that name NCCL variables; the kernel takes 2 MiB of them in all.
    Limit{Part::Words, 16384, "16384 words of commands"},
};
static_assert(kLimits.back().part == Part::Words &&
              static_cast<std::size_t>(Part::Words) + 1 == kLimits.size());

// Counts what one object has used of the limits.
class Usage {
 public:
  // Returns false once the count is beyond the limit.
  bool take(Part part, std::size_t count = 1) {
    const auto i = static_cast<std::size_t>(part);
    used_[i] += count;
    return used_[i] <= kLimits[i].most;
  }

 private:
  std::array<std::size_t, kLimits.size()> used_{};
};

// "It has more than 256 containers."
std::string excess_of(Part part);

// The review with null in place of its objects; "" if the rest has more than 256 KiB, or if brackets or
// quotes do not match. Keys are found as the API server writes them, without escapes. The values that are
// left out are not checked.
std::string without_objects(std::string_view review);

}  // namespace nccl_env
